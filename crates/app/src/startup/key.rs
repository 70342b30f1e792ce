//! The key of sessions: made at the first start and kept, so that a restart ends no session.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use toolgate_gateway::seal::Seal;

use crate::startup::{StartError, files};

/// The key in a state folder, made where there is none.
pub(crate) fn kept(folder: &Path) -> Result<[u8; 32], StartError> {
    let path = folder.join("session.key");
    let failed = |cause| StartError::Key { path: path.clone(), cause };
    files::make_state_dir(folder).map_err(failed)?;
    let new = Seal::new_key()?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
        Ok(mut file) => {
            file.write_all(&new).and_then(|()| file.sync_all()).map_err(failed)?;
            Ok(new)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(&path).map_err(failed),
        Err(error) => Err(failed(error)),
    }
}

fn read(path: &Path) -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    let mut file = fs::File::open(path)?;
    file.read_exact(&mut key).map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidData, "it does not hold 32 bytes; delete it to get a new one")
    })?;
    Ok(key)
}
