//! `cargo xtask dist`: the packages. One tree is staged; the `.deb`, the `.rpm` and the tarball are that tree.

use crate::error::{Error, FAILURE, Result};
use crate::setup::{self, Scope};
use crate::shell::{self, cargo, heading, output, program, root, succeeds, target_dir};
use std::fs;
use std::path::{Path, PathBuf};

/// Cargo's tools for it, by what `cargo NAME` is called.
const TOOLS: [&str; 3] = ["deb", "generate-rpm", "cyclonedx"];
/// Files of the repository, and where the tree has them; folders with all that is tracked in them.
const COPIED: [(&str, &str); 16] = [
    ("packaging/systemd/ccactl.service", "usr/lib/systemd/system/ccactl.service"),
    ("packaging/systemd/ccactl-exporter.service", "usr/lib/systemd/system/ccactl-exporter.service"),
    ("packaging/policy.toml", "usr/share/doc/ccactl/examples/policy.toml"),
    ("packaging/grafana/ccactl.json", "usr/share/doc/ccactl/examples/grafana.json"),
    ("packaging/slurm/ccactl-bench.sbatch", "usr/share/doc/ccactl/examples/ccactl-bench.sbatch"),
    ("packaging/slurm/ccactl-report.sbatch", "usr/share/doc/ccactl/examples/ccactl-report.sbatch"),
    ("packaging/kubernetes/ccactl.yaml", "usr/share/doc/ccactl/examples/kubernetes.yaml"),
    ("packaging/ansible", "usr/share/doc/ccactl/examples/ansible"),
    ("packaging/prometheus/ccactl.rules.yml", "usr/share/doc/ccactl/examples/prometheus.rules.yml"),
    ("packaging/nginx/ccactl-exporter.conf", "usr/share/doc/ccactl/examples/nginx.conf"),
    ("packaging/systemd/ccactl-exporter-unix.conf", "usr/share/doc/ccactl/examples/ccactl-exporter-unix.conf"),
    ("LICENSE-MIT", "usr/share/doc/ccactl/LICENSE-MIT"),
    ("LICENSE-APACHE", "usr/share/doc/ccactl/LICENSE-APACHE"),
    ("bpf/LICENSE", "usr/share/doc/ccactl/LICENSE-GPL-2"),
    ("README.md", "usr/share/doc/ccactl/README.md"),
    ("docs", "usr/share/doc/ccactl/docs"),
];
/// What `ccactl __pages` writes, and where shells look for it.
const COMPLETIONS: [(&str, &str); 3] = [
    ("ccactl.bash", "usr/share/bash-completion/completions/ccactl"),
    ("_ccactl", "usr/share/zsh/vendor-completions/_ccactl"),
    ("ccactl.fish", "usr/share/fish/vendor_completions.d/ccactl.fish"),
];

/// Writes `target/dist`.
pub fn run() -> Result {
    setup::tools(Scope::Build)?;
    tools()?;
    let (version, commit) = (version()?, commit()?);
    heading("build");
    let build = format!("commit {commit}");
    let mut ccactl = cargo();
    ccactl.args(["build", "--release", "--package", "ccactl"]).args(shell::FEATURES);
    shell::run(ccactl.env("CCACTL_BUILD", &build))?;
    heading("tree");
    let dist = target_dir().join("dist");
    let tree = dist.join("root");
    remove(&dist)?;
    stage(&tree, &version)?;
    heading("packages");
    // They look for the tree beside the workspace, wherever cargo builds.
    let link = root().join("target/dist");
    if link != dist {
        link_to(&dist, &link)?;
    }
    shell::run(cargo().args(["deb", "--package", "ccactl", "--no-build", "--no-strip", "--output"]).arg(&dist))?;
    shell::run(cargo().args(["generate-rpm", "--package", "crates/ccactl", "--output"]).arg(&dist))?;
    let name = format!("ccactl-{version}-{}", std::env::consts::ARCH);
    let archive = dist.join(format!("{name}.tar.gz"));
    let renamed = format!("s,^[.],{name},");
    shell::run(
        program("tar")
            .args(["--create", "--gzip", "--owner=0", "--group=0", "--sort=name", "--transform"])
            .arg(renamed)
            .arg("--file")
            .arg(&archive)
            .arg("-C")
            .arg(&tree)
            .arg("."),
    )?;
    bill_of_materials(&dist, &name)?;
    sums(&dist)
}

fn tools() -> Result {
    for tool in TOOLS {
        if !succeeds(cargo().args([tool, "--version"])) {
            shell::run(cargo().args(["install", "--locked"]).arg(format!("cargo-{tool}")))?;
        }
    }
    Ok(())
}

/// Of the workspace.
fn version() -> Result<String> {
    let id = output(cargo().args(["pkgid", "--package", "ccactl"]))?;
    let version = id.trim().rsplit(['#', '@']).next().unwrap_or_default();
    Ok(version.to_owned())
}

/// `abc1234 of 2026-11-25`, and whether tracked files differ from it.
fn commit() -> Result<String> {
    let commit = output(program("git").args(["log", "-1", "--format=%h of %cs"]))?;
    let changed = output(program("git").args(["status", "--porcelain", "--untracked-files=no"]))?;
    Ok(format!("{}{}", commit.trim(), if changed.trim().is_empty() { "" } else { " and changes" }))
}

fn stage(tree: &Path, version: &str) -> Result {
    let built = target_dir().join("release/ccactl");
    copy(&built, &tree.join("usr/bin/ccactl"))?;
    for (from, to) in COPIED {
        for file in tracked(from)? {
            let below = file.strip_prefix(from).unwrap_or(Path::new(""));
            let to = if below == Path::new("") { tree.join(to) } else { tree.join(to).join(below) };
            copy(&root().join(&file), &to)?;
        }
    }
    let pages = tree.with_file_name("pages");
    shell::run(program(&built).arg("__pages").arg(&pages))?;
    for (from, to) in COMPLETIONS {
        copy(&pages.join("completions").join(from), &tree.join(to))?;
    }
    for page in files(&pages.join("man"))? {
        let name = page.file_name().unwrap_or_default();
        copy(&page, &tree.join("usr/share/man/man1").join(name))?;
    }
    shell::run(program(&built).arg("sdk").arg(tree.join("usr/share/ccactl/sdk")))?;
    let documents = tree.join("usr/share/doc/ccactl");
    copy(&root().join("CHANGELOG.md"), &documents.join("changelog"))?;
    let date = output(program("git").args(["log", "-1", "--format=%cD"]))?;
    let entry = format!(
        "ccactl ({version}-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- the authors of ccactl <ccactl@ccactl.invalid>  {}\n",
        date.trim()
    );
    write(&documents.join("changelog.Debian"), &entry)?;
    let mut packed = vec![documents.join("changelog"), documents.join("changelog.Debian")];
    packed.extend(files(&tree.join("usr/share/man/man1"))?);
    shell::run(program("gzip").args(["--best", "--no-name"]).args(packed))
}

/// The file, or all files below the folder.
fn tracked(path: &str) -> Result<Vec<PathBuf>> {
    let listed = output(program("git").args(["ls-files", "-z", "--", path]))?;
    let found: Vec<PathBuf> = listed.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    if found.is_empty() {
        Err(Error::new(FAILURE, format!("{path}: expected tracked files, found none")))
    } else {
        Ok(found)
    }
}

/// All crates that are in the program, with versions and licences (CycloneDX).
fn bill_of_materials(dist: &Path, name: &str) -> Result {
    let arguments =
        ["cyclonedx", "--format", "json", "--manifest-path", "crates/ccactl/Cargo.toml", "--override-filename", "sbom"];
    shell::run(cargo().args(arguments).args(["--features", "object-store"]))?;
    // It writes one beside each manifest of the workspace.
    let own = root().join("crates/ccactl/sbom.json");
    copy(&own, &dist.join(format!("{name}.cdx.json")))?;
    for manifest in tracked("*Cargo.toml")? {
        let _ = fs::remove_file(root().join(manifest).with_file_name("sbom.json"));
    }
    Ok(())
}

fn sums(dist: &Path) -> Result {
    let packages = files(dist)?;
    let names: Vec<_> = packages.iter().filter_map(|path| path.file_name()).collect();
    let sums = output(program("sha256sum").args(names).current_dir(dist))?;
    print!("{sums}");
    write(&dist.join("SHA256SUMS"), &sums)
}

/// In their order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| io(folder, &error))?;
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

fn copy(from: &Path, to: &Path) -> Result {
    let folder = to.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(|error| io(folder, &error))?;
    fs::copy(from, to).map(drop).map_err(|error| io(from, &error))
}

fn write(path: &Path, text: &str) -> Result {
    fs::write(path, text).map_err(|error| io(path, &error))
}

fn remove(folder: &Path) -> Result {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(folder, &error)),
        _ => Ok(()),
    }
}

fn link_to(dist: &Path, link: &Path) -> Result {
    fs::create_dir_all(link.parent().unwrap_or(link)).map_err(|error| io(link, &error))?;
    let _ = fs::remove_file(link);
    std::os::unix::fs::symlink(dist, link).map_err(|error| io(link, &error))
}

fn io(path: &Path, error: &std::io::Error) -> Error {
    Error::io(&path.display().to_string(), error)
}
