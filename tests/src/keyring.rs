//! A desktop keyring of its own: a message bus that nobody else is on, and the keyring daemon behind it.
//!
//! The bus starts no services by itself, so that nothing runs but what is started here, and everything ends with the
//! value. No desktop, login or systemd is needed.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use tempfile::TempDir;

use crate::processes;
use crate::waiting::eventually;

/// A keyring that is unlocked. Dropping it ends its processes, and fails the test where another one stays.
#[derive(Debug)]
pub struct Keyring {
    folder: TempDir,
    bus: Child,
    daemon: Child,
}

impl Keyring {
    /// Starts one without entries.
    pub fn start() -> Keyring {
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let configuration = folder.path().join("bus.conf");
        fs::write(&configuration, bus_configuration(&socket(folder.path()))).unwrap();
        let mut bus = command(folder.path(), installed("dbus-daemon"));
        bus.arg("--nofork").arg("--nopidfile").arg("--config-file").arg(configuration);
        let bus = bus.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let daemon = unlocked_daemon(folder.path());
        let keyring = Keyring { folder, bus, daemon };
        keyring.store("toolgate tests", "the first entry", "shows that the keyring is there");
        keyring
    }

    /// The variable that leads programs to it: its name and its value.
    pub fn variable(&self) -> (&'static str, String) {
        (BUS, address(self.folder.path()))
    }

    /// Enters a secret, as soon as the daemon is there.
    pub fn store(&self, service: &str, account: &str, secret: &str) {
        eventually("the keyring takes an entry", || {
            let mut tool = command(self.folder.path(), installed("secret-tool"));
            tool.args(["store", "--label", account, "service", service, "account", account]);
            let mut tool = tool.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
            tool.stdin.take().unwrap().write_all(secret.as_bytes()).unwrap();
            tool.wait().unwrap().success().then_some(())
        });
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        for child in [&mut self.daemon, &mut self.bus] {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
        if thread::panicking() {
            return;
        }
        let home = format!("HOME={}", self.folder.path().display());
        eventually("nothing of the keyring is left", || {
            processes::with_environment(&home).is_empty().then_some(())
        });
    }
}

const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";

/// Starts a daemon whose keyring is made and unlocked with a password.
fn unlocked_daemon(folder: &Path) -> Child {
    // A copy: the installed file may carry a capability that a container does not grant, and could not be run there.
    let program = folder.join("gnome-keyring-daemon");
    fs::copy(installed("gnome-keyring-daemon"), &program).unwrap();
    eventually("the bus listens", || socket(folder).exists().then_some(()));
    let mut daemon = command(folder, program);
    daemon.args(["--foreground", "--unlock", "--components=secrets"]);
    let mut daemon =
        daemon.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    daemon.stdin.take().unwrap().write_all(b"a password").unwrap();
    daemon
}

/// A command whose home and bus are in this folder.
fn command(folder: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .env("XDG_RUNTIME_DIR", folder)
        .env("XDG_DATA_HOME", folder.join("data"))
        .env(BUS, address(folder));
    command
}

/// Where a program is. A machine without it is no reason to test less.
fn installed(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{program} is not installed; run scripts/setup.sh"))
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("bus")
}

fn address(folder: &Path) -> String {
    format!("unix:path={}", socket(folder).display())
}

fn bus_configuration(socket: &Path) -> String {
    format!(
        r#"<busconfig>
  <type>session</type>
  <listen>unix:path={}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#,
        socket.display()
    )
}
