//! Files that are written whole or not at all.

use std::io::Write;
use std::path::Path;

use ccactl_host::output::{self, Replace};

use crate::Error;

/// Writes a file as a whole, so that a full disk leaves nothing half-made behind, in the place of one of ours if it is
/// there. A device or a pipe (`/dev/stdout`) is written to, not replaced.
///
/// # Errors
/// When the folder or the file cannot be written, or is somebody else's.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), Error> {
    let written = output::open_stream(path).and_then(|stream| match stream {
        Some(mut stream) => Ok(stream.write_all(content)?),
        None => output::write(path, content, Replace::Ours),
    });
    written.map_err(|error| Error::Output { path: path.to_owned(), cause: error.into() })
}
