//! Where `auth_ref` leads: a variable, a file only its owner can read, or the keyring of the desktop.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::{ReferenceError, Resolver};
use crate::Secret;

/// A locked keyring asks the person at the screen; without one, nobody answers.
const KEYRING_PATIENCE: Duration = Duration::from_secs(10);

impl Resolver<'_> {
    /// Fetches the secret an `auth_ref` names.
    pub(crate) fn secret(&mut self, auth_ref: &str, folder: &Path) -> Result<Secret, ReferenceError> {
        match auth_ref.split_once(':') {
            Some(("env", name)) => {
                let value = self.variable(name);
                value.map(Secret::new).ok_or_else(|| ReferenceError::Missing { name: name.to_owned() })
            }
            Some(("file", path)) => {
                let path = self.located(path, folder);
                refuse_open_permissions(&path)?;
                self.file(&path).map(Secret::new)
            }
            Some(("keyring", entry)) => keyring(entry),
            _ => Err(ReferenceError::AuthForm),
        }
    }
}

#[cfg(unix)]
fn refuse_open_permissions(path: &Path) -> Result<(), ReferenceError> {
    use std::os::unix::fs::PermissionsExt;

    let failure = |why: String| ReferenceError::File { path: path.to_path_buf(), why };
    let mode = std::fs::metadata(path).map_err(|error| failure(error.to_string()))?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(failure(format!("others can read this secret (mode {:03o}); run `chmod 600` on it", mode & 0o777)))
}

#[cfg(not(unix))]
fn refuse_open_permissions(_: &Path) -> Result<(), ReferenceError> {
    Ok(())
}

/// Asks `secret-tool`, the command of the desktop keyring.
fn keyring(entry: &str) -> Result<Secret, ReferenceError> {
    let failure = |why: &str| ReferenceError::Keyring { entry: entry.to_owned(), why: why.to_owned() };
    let (service, account) =
        entry.split_once('/').ok_or_else(|| failure("write it as keyring:SERVICE/ACCOUNT"))?;
    let mut child = Command::new("secret-tool")
        .args(["lookup", "service", service, "account", account])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|_| failure("the program `secret-tool` is not installed; use env: or file: instead"))?;
    let (Some(mut output), Some(mut complaints)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(failure("no output"));
    };
    let (sender, receiver) = mpsc::channel();
    // The reader ends with the child: either it answers, or it is killed below and its pipes close.
    let reader = thread::spawn(move || {
        let (mut secret, mut complaint) = (String::new(), String::new());
        let read = output.read_to_string(&mut secret).and_then(|_| complaints.read_to_string(&mut complaint));
        let _ = sender.send(read.map(|_| (secret, complaint)));
    });
    let answer = receiver.recv_timeout(KEYRING_PATIENCE);
    if answer.is_err() {
        let _ = child.kill();
    }
    let status = child.wait();
    let _ = reader.join();
    match answer {
        Err(_) => Err(failure("it did not answer in time; is it locked?")),
        Ok(Err(_)) => Err(failure("what it gave is no text")),
        Ok(Ok((secret, _))) if status.is_ok_and(|status| status.success()) && !secret.is_empty() => {
            Ok(Secret::new(secret.trim_end_matches('\n')))
        }
        // Without an entry it says nothing; without a keyring it says why.
        Ok(Ok((_, complaint))) => match complaint.trim() {
            "" => Err(failure("there is no such entry, or the keyring is locked")),
            complaint => Err(failure(complaint)),
        },
    }
}
