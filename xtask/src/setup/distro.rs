//! Which distribution this is, as far as package names go.

/// Distributions that share package names and an installer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Debian,
    Fedora,
    Suse,
    Arch,
    Alpine,
}

/// Names of the packages that bring one requirement; several are separated by a blank.
#[derive(Debug)]
pub struct Packages {
    pub debian: &'static str,
    pub fedora: &'static str,
    pub suse: &'static str,
    pub arch: &'static str,
    pub alpine: &'static str,
}

impl Packages {
    /// The names in one family.
    pub fn of(&self, family: Family) -> &'static str {
        match family {
            Family::Debian => self.debian,
            Family::Fedora => self.fedora,
            Family::Suse => self.suse,
            Family::Arch => self.arch,
            Family::Alpine => self.alpine,
        }
    }
}

impl Family {
    /// Every family, for tests that go through all of them.
    #[cfg(test)]
    pub const ALL: [Family; 5] = [Family::Debian, Family::Fedora, Family::Suse, Family::Arch, Family::Alpine];

    /// The family of an `/etc/os-release`. An unknown distribution that has apt-get counts as Debian.
    pub fn detect(os_release: &str, has_apt: bool) -> Option<Family> {
        let id = field(os_release, "ID").unwrap_or_default();
        let like = field(os_release, "ID_LIKE").unwrap_or_default();
        let known = std::iter::once(id).chain(like.split_whitespace()).find_map(Self::of_id);
        match known {
            Some(Family::Debian) | None if has_apt => Some(Family::Debian),
            Some(Family::Debian) => None,
            other => other,
        }
    }

    fn of_id(id: &str) -> Option<Family> {
        match id {
            "debian" | "ubuntu" => Some(Family::Debian),
            "fedora" | "rhel" | "centos" => Some(Family::Fedora),
            "arch" => Some(Family::Arch),
            "alpine" => Some(Family::Alpine),
            // opensuse-leap, opensuse-tumbleweed, opensuse-microos
            id if id == "suse" || id.starts_with("opensuse") => Some(Family::Suse),
            _ => None,
        }
    }

    /// The installer, to be followed by package names.
    pub fn install_command(self) -> &'static str {
        match self {
            Family::Debian => "apt-get install",
            Family::Fedora => "dnf install",
            Family::Suse => "zypper install",
            Family::Arch => "pacman -S --needed",
            Family::Alpine => "apk add",
        }
    }
}

/// What the distribution calls itself.
pub fn name(os_release: &str) -> String {
    field(os_release, "PRETTY_NAME").or(field(os_release, "ID")).unwrap_or("an unknown distribution").to_owned()
}

/// Value of a key, without quotes.
fn field<'a>(os_release: &'a str, key: &str) -> Option<&'a str> {
    let value = os_release.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='))?;
    Some(value.trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n";
    const TUMBLEWEED: &str = "NAME=\"openSUSE Tumbleweed\"\nID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\nPRETTY_NAME=\"openSUSE Tumbleweed\"\n";
    const ROCKY: &str = "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n";

    #[test]
    fn the_family_comes_from_id_or_from_what_it_is_like() {
        assert_eq!(Family::detect(DEBIAN, true), Some(Family::Debian));
        assert_eq!(Family::detect("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", true), Some(Family::Debian));
        assert_eq!(Family::detect("ID=fedora\n", false), Some(Family::Fedora));
        assert_eq!(Family::detect(ROCKY, false), Some(Family::Fedora));
        assert_eq!(Family::detect(TUMBLEWEED, false), Some(Family::Suse));
        assert_eq!(Family::detect("ID=manjaro\nID_LIKE=arch\n", false), Some(Family::Arch));
        assert_eq!(Family::detect("ID=alpine\n", false), Some(Family::Alpine));
    }

    #[test]
    fn apt_decides_for_a_distribution_that_is_not_known() {
        assert_eq!(Family::detect("ID=homebrewed\n", true), Some(Family::Debian));
        assert_eq!(Family::detect("", true), Some(Family::Debian));
        assert_eq!(Family::detect("ID=homebrewed\n", false), None);
        assert_eq!(Family::detect(DEBIAN, false), None, "Debian without apt-get is not one to install on");
    }

    #[test]
    fn apt_on_another_family_does_not_make_it_debian() {
        assert_eq!(Family::detect("ID=fedora\n", true), Some(Family::Fedora));
    }

    #[test]
    fn a_key_that_ends_like_another_is_not_mistaken_for_it() {
        assert_eq!(field("VERSION_ID=\"12\"\nID=debian\n", "ID"), Some("debian"));
        assert_eq!(field("ID_LIKE=debian\n", "ID"), None);
    }

    #[test]
    fn the_name_falls_back() {
        assert_eq!(name(DEBIAN), "Debian GNU/Linux 12 (bookworm)");
        assert_eq!(name("ID=void\n"), "void");
        assert_eq!(name(""), "an unknown distribution");
    }
}
