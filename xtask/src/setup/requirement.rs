//! What the build, the tests and the gates need. A requirement is met when it *works*, whoever installed it.

use super::Scope;
use super::distro::Packages;
use crate::shell::succeeds;
use std::io::Write;
use std::process::{Command, Stdio};

/// A program or a library.
#[derive(Debug)]
pub struct Requirement {
    pub name: &'static str,
    /// Ends the sentence "is needed …".
    pub purpose: &'static str,
    pub scope: Scope,
    pub packages: Packages,
    /// Tries it in the way in which the build uses it.
    pub works: fn() -> bool,
}

/// In the order in which a build needs them.
pub const REQUIREMENTS: &[Requirement] = &[
    Requirement {
        name: "C compiler (cc)",
        purpose: "links Rust programs; compiles libbpf and the native build of the algorithms",
        scope: Scope::Build,
        packages: Packages {
            debian: "gcc libc6-dev",
            fedora: "gcc glibc-devel",
            suse: "gcc glibc-devel",
            arch: "gcc",
            alpine: "gcc musl-dev linux-headers",
        },
        works: || compiles("cc", &[], "int main(void) { return 0; }"),
    },
    Requirement {
        name: "clang with target bpf",
        purpose: "compiles the algorithms to BPF",
        scope: Scope::Build,
        packages: Packages { debian: "clang", fedora: "clang", suse: "clang", arch: "clang", alpine: "clang" },
        works: || {
            let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
            compiles(&clang, &["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-c"], "int probe(int x) { return x + 1; }")
        },
    },
    Requirement {
        name: "ip and tc",
        purpose: "the tests lock routes and set up bottlenecks with them, in namespaces of their own",
        scope: Scope::Build,
        packages: Packages {
            debian: "iproute2",
            fedora: "iproute iproute-tc",
            suse: "iproute2",
            arch: "iproute2",
            alpine: "iproute2",
        },
        works: || ["ip", "tc"].iter().all(|tool| succeeds(Command::new(tool).arg("-V"))),
    },
    Requirement {
        name: "chromium and chromedriver",
        purpose: "opens the page of a report in the tests",
        scope: Scope::Test,
        packages: Packages {
            debian: "chromium chromium-driver",
            fedora: "chromium chromedriver",
            suse: "chromium chromedriver",
            arch: "chromium",
            alpine: "chromium chromium-chromedriver",
        },
        works: || ["chromium", "chromedriver"].iter().all(|tool| succeeds(Command::new(tool).arg("--version"))),
    },
    Requirement {
        name: "Slurm",
        purpose: "gives the cells of an experiment to nodes in namespaces, in a test",
        scope: Scope::Test,
        packages: Packages {
            debian: "slurmctld slurmd slurm-client",
            fedora: "slurm slurm-slurmctld slurm-slurmd",
            suse: "slurm slurm-node",
            arch: "slurm-llnl",
            alpine: "slurm",
        },
        // The others ask for the cluster's configuration before they tell their version.
        works: || ["slurmctld", "slurmd"].iter().all(|tool| succeeds(Command::new(tool).arg("-V"))),
    },
    Requirement {
        name: "promtool",
        purpose: "tests the alerts of packaging/prometheus",
        scope: Scope::Test,
        packages: Packages {
            debian: "prometheus",
            fedora: "prometheus",
            suse: "golang-github-prometheus-prometheus",
            arch: "prometheus",
            alpine: "prometheus",
        },
        works: || succeeds(Command::new("promtool").arg("--version")),
    },
    Requirement {
        name: "Go, or pip",
        purpose: "builds the S3 server of the tests, or brings Go for it",
        scope: Scope::Test,
        packages: Packages { debian: "python3-pip", fedora: "golang", suse: "go", arch: "go", alpine: "go" },
        works: super::s3::can_be_built,
    },
    Requirement {
        name: "qemu-system-x86_64",
        purpose: "boots other kernels in the virtual lab",
        scope: Scope::Lab,
        packages: Packages {
            debian: "qemu-system-x86",
            fedora: "qemu-system-x86-core",
            suse: "qemu-x86",
            arch: "qemu-system-x86",
            alpine: "qemu-system-x86_64",
        },
        works: || succeeds(Command::new("qemu-system-x86_64").arg("--version")),
    },
    Requirement {
        name: "xz",
        purpose: "unpacks the modules of kernels for the virtual lab",
        scope: Scope::Lab,
        packages: Packages { debian: "xz-utils", fedora: "xz", suse: "xz", arch: "xz", alpine: "xz" },
        works: || succeeds(Command::new("xz").arg("--version")),
    },
    Requirement {
        name: "make",
        purpose: "builds libbpf",
        scope: Scope::Build,
        packages: Packages { debian: "make", fedora: "make", suse: "make", arch: "make", alpine: "make" },
        works: || succeeds(Command::new("make").arg("--version")),
    },
    Requirement {
        name: "pkg-config",
        purpose: "finds the libraries that libbpf uses",
        scope: Scope::Build,
        packages: Packages {
            debian: "pkg-config",
            fedora: "pkgconf-pkg-config",
            suse: "pkg-config",
            arch: "pkgconf",
            alpine: "pkgconf",
        },
        works: || succeeds(Command::new("pkg-config").arg("--version")),
    },
    Requirement {
        name: "libelf with headers",
        purpose: "lets libbpf read BPF objects",
        scope: Scope::Build,
        packages: Packages {
            debian: "libelf-dev",
            fedora: "elfutils-libelf-devel",
            suse: "libelf-devel",
            arch: "libelf",
            alpine: "elfutils-dev",
        },
        works: || {
            let program = "#include <libelf.h>\nint main(void) { return (int)elf_version(EV_CURRENT); }";
            compiles("cc", &["-lelf"], program)
        },
    },
    Requirement {
        name: "zlib with headers",
        purpose: "lets libelf read compressed sections",
        scope: Scope::Build,
        packages: Packages {
            debian: "zlib1g-dev",
            fedora: "zlib-ng-compat-devel",
            suse: "zlib-devel",
            arch: "zlib",
            alpine: "zlib-dev",
        },
        works: || compiles("cc", &["-lz"], "#include <zlib.h>\nint main(void) { return zlibVersion()[0]; }"),
    },
    Requirement {
        name: "clang-format",
        purpose: "checks the layout of bpf/",
        scope: Scope::Lint,
        packages: Packages {
            debian: "clang-format",
            fedora: "clang-tools-extra",
            suse: "clang-tools",
            arch: "clang",
            alpine: "clang-extra-tools",
        },
        works: || succeeds(Command::new("clang-format").arg("--version")),
    },
];

/// Whether a compiler makes something of a C program. `last` follows the source, as libraries must.
fn compiles(compiler: &str, last: &[&str], source: &str) -> bool {
    let output = std::env::temp_dir().join(format!("ccactl-xtask-{}", std::process::id()));
    let ok = compile(Command::new(compiler).args(["-x", "c", "-"]).args(last).arg("-o").arg(&output), source);
    // Nothing was made where the compiler is missing or refused the program.
    let _ = std::fs::remove_file(&output);
    ok.unwrap_or(false)
}

fn compile(command: &mut Command, source: &str) -> std::io::Result<bool> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A compiler that gives up early closes the pipe; its exit status says so.
        let _ = stdin.write_all(source.as_bytes());
    }
    Ok(child.wait()?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_is_judged_by_what_it_compiles() {
        // cc works: it linked this test.
        assert!(compiles("cc", &[], "int main(void) { return 0; }"));
        assert!(!compiles("cc", &[], "int main(void) { return missing_symbol; }"));
        assert!(!compiles("cc", &["-lno-such-library"], "int main(void) { return 0; }"));
        assert!(!compiles("/nonexistent/cc", &[], "int main(void) { return 0; }"));
    }

    #[test]
    fn names_are_unique() {
        for (i, a) in REQUIREMENTS.iter().enumerate() {
            assert!(REQUIREMENTS[i + 1..].iter().all(|b| a.name != b.name), "{}", a.name);
        }
    }
}
