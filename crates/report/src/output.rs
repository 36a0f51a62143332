//! Files that are written whole or not at all.

use std::io::Write;
use std::path::Path;

use crate::Error;

/// Writes a file under another name first, so that a full disk leaves nothing half-made behind.
///
/// # Errors
/// When the folder or the file cannot be written.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), Error> {
    let output = |source| Error::Output { path: path.to_owned(), source };
    // A device or a pipe (`/dev/stdout`) has to be written to, not replaced.
    if path.exists() && !path.is_file() {
        return std::fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut f| f.write_all(content))
            .map_err(output);
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = new_file_in(folder).map_err(output)?;
    file.write_all(content).and_then(|()| file.flush()).map_err(output)?;
    file.persist(path).map_err(|error| output(error.error))?;
    Ok(())
}

fn new_file_in(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    // As a plain `open` would make it: readable by whom the umask allows, not private like a temporary file.
    tempfile::Builder::new().prefix(".ccactl-").permissions(std::fs::Permissions::from_mode(0o666)).tempfile_in(folder)
}
