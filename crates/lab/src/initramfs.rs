//! The guest's first file system, which is also its only one: program, libraries, modules, job and files.

use crate::archive::Writer;
use crate::error::{Error, Result};
use crate::job::{JOB, Job, MODULES, PROGRAM};
use crate::modules::Module;
use crate::program::Program;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Folders on which init mounts file systems, and the one of the results.
const MOUNT_POINTS: &[&str] = &["dev", "proc", "run", "sys", "tmp", MODULES, crate::job::RESULTS];

/// What a guest finds.
#[derive(Debug)]
pub(crate) struct Content<'a> {
    pub(crate) program: &'a Program,
    /// Further ones, by their names.
    pub(crate) tools: &'a [(&'a str, Program)],
    pub(crate) modules: &'a [Module],
    pub(crate) job: &'a Job,
    /// The kernel's release and its configuration.
    pub(crate) config: (&'a str, Vec<u8>),
    /// Path in the guest, without the leading slash, and content.
    pub(crate) files: &'a [(String, Vec<u8>)],
}

/// Writes it to a file. Nothing is compressed: unpacking would cost the guest more than the host's memory is worth.
///
/// # Errors
/// [`Error::GuestImage`].
pub(crate) fn write(content: &Content<'_>, path: &Path) -> Result<()> {
    let file = File::create(path).map_err(Error::image(path.display().to_string()))?;
    let mut builder =
        Builder { archive: Writer::new(BufWriter::with_capacity(1 << 20, file)), folders: BTreeSet::new() };
    builder.all(content).map_err(Error::image(format!("cannot write {}", path.display())))?;
    builder.archive.finish().map(drop).map_err(Error::image(format!("cannot write {}", path.display())))
}

struct Builder<W> {
    archive: Writer<W>,
    folders: BTreeSet<String>,
}

impl<W: Write> Builder<W> {
    fn all(&mut self, content: &Content<'_>) -> io::Result<()> {
        for folder in MOUNT_POINTS {
            self.folder(folder)?;
        }
        let programs =
            || [(PROGRAM, content.program)].into_iter().chain(content.tools.iter().map(|(name, tool)| (*name, tool)));
        for (name, program) in programs() {
            self.file(name, 0o755, &program.content)?;
        }
        // Programs may share some.
        let libraries: BTreeSet<_> = programs().flat_map(|(_, program)| &program.libraries).collect();
        for library in libraries {
            let name = library.to_string_lossy();
            let bytes =
                fs::read(library).map_err(|cause| io::Error::new(cause.kind(), format!("library {name}: {cause}")))?;
            self.file(name.trim_start_matches('/'), 0o755, &bytes)?;
        }
        for module in content.modules {
            self.file(&format!("{MODULES}/{}.ko", module.name), 0o644, &module.content)?;
        }
        // One of the two places where libbpf looks.
        let (release, config) = &content.config;
        self.file(&format!("boot/config-{release}"), 0o644, config)?;
        let job = serde_json::to_vec(content.job).expect("strings and numbers are JSON");
        self.file(JOB, 0o644, &job)?;
        content.files.iter().try_for_each(|(path, bytes)| self.file(path, 0o644, bytes))
    }

    fn file(&mut self, path: &str, permissions: u32, bytes: &[u8]) -> io::Result<()> {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.folder(folder)?;
        }
        self.archive.file(path, permissions, bytes)
    }

    /// A folder after those above it, once.
    fn folder(&mut self, path: &str) -> io::Result<()> {
        if path.is_empty() || self.folders.contains(path) {
            return Ok(());
        }
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.folder(parent)?;
        }
        self.archive.directory(path)?;
        self.folders.insert(path.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive;

    #[test]
    fn everything_has_its_place_and_equal_content_gives_equal_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("lib.so");
        fs::write(&library, "library").unwrap();
        let program = Program { content: b"program".to_vec(), libraries: vec![library.clone()] };
        let modules = [Module { name: "tun".into(), content: b"module".to_vec() }];
        let job = Job { modules: vec!["tun".into()], disk_modules: Vec::new(), commands: Vec::new() };
        let files = [("job/scenario.toml".to_owned(), b"text".to_vec())];
        let config = ("6.12.1", b"CONFIG_HZ=250\n".to_vec());
        let tool = Program { content: b"tool".to_vec(), libraries: vec![library.clone()] };
        let tools = [("ip", tool)];
        let content = Content { program: &program, tools: &tools, modules: &modules, job: &job, config, files: &files };
        let made = |name: &str| {
            let path = folder.path().join(name);
            write(&content, &path).unwrap();
            fs::read(path).unwrap()
        };
        let image = made("a");
        assert_eq!(image, made("b"));
        let unpacked = tempfile::tempdir().unwrap();
        archive::unpack(&image[..], unpacked.path()).unwrap();
        let text = |path: &str| fs::read_to_string(unpacked.path().join(path)).unwrap();
        assert_eq!((text("ccactl"), text("ip")), ("program".to_owned(), "tool".to_owned()));
        assert_eq!(text(library.to_str().unwrap().trim_start_matches('/')), "library");
        assert_eq!(text("modules/tun.ko"), "module");
        assert_eq!(text("boot/config-6.12.1"), "CONFIG_HZ=250\n");
        assert_eq!(text("job/scenario.toml"), "text");
        assert_eq!(serde_json::from_str::<Job>(&text("job.json")).unwrap(), job);
        assert!(MOUNT_POINTS.iter().all(|point| unpacked.path().join(point).is_dir()));
    }
}
