//! The gateway as a process of its own.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use crate::processes::{self, Process};
use crate::stdio_client::StdioClient;
use crate::waiting::eventually;

/// The program under test: what `TOOLGATE_BIN` names, or else the one that was built beside the tests.
pub fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("TOOLGATE_BIN") {
        return named.into();
    }
    let test = std::env::current_exe().unwrap();
    let beside = test.ancestors().nth(2).unwrap().join("toolgate");
    assert!(
        beside.exists(),
        "there is no {}: build it with `cargo build -p toolgate` and the same profile, or name it in TOOLGATE_BIN",
        beside.display()
    );
    beside
}

/// How the gateway is to be started.
#[derive(Debug)]
pub struct Setup {
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    home: Arc<TempDir>,
    largest_file: Option<u64>,
}

impl Default for Setup {
    fn default() -> Setup {
        let home = Arc::new(TempDir::new().unwrap());
        Setup { arguments: Vec::new(), environment: Vec::new(), home, largest_file: None }
    }
}

impl Setup {
    /// A gateway without servers.
    pub fn new() -> Setup {
        Setup::default()
    }

    /// With a server: a URL or a command line.
    #[must_use]
    pub fn server(self, name: &str, target: impl AsRef<str>) -> Setup {
        self.arguments(["--server".to_owned(), format!("{name}={}", target.as_ref())])
    }

    /// With further arguments.
    #[must_use]
    pub fn arguments<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Setup {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// With a value of the configuration, such as `runtime.call_timeout=1s`.
    #[must_use]
    pub fn set(self, value: &str) -> Setup {
        self.arguments(["--set", value])
    }

    /// With a configuration file of this content, in the native form.
    #[must_use]
    pub fn config(self, yaml: &str) -> Setup {
        let file = self.home.path().join("toolgate.yaml");
        fs::write(&file, yaml).unwrap();
        self.arguments([OsString::from("--config"), file.into()])
    }

    /// With a variable in its environment.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Setup {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// With files that may grow to so many blocks only, as on a full disk. The limit can be lifted while it runs.
    #[must_use]
    pub fn largest_file(mut self, blocks: u64) -> Setup {
        self.largest_file = Some(blocks);
        self
    }

    /// With what another gateway left behind: its state and its home.
    #[must_use]
    pub fn after(mut self, other: &Gateway) -> Setup {
        self.home = Arc::clone(&other.home);
        self
    }

    /// Starts it for HTTP clients and waits until it listens.
    pub fn start(self) -> Gateway {
        let mut gateway = self.spawn();
        gateway.address = eventually("the gateway listens", || {
            let ready = gateway.log.find("listening");
            assert!(
                ready.is_some() || gateway.ended().is_none(),
                "the gateway ended: {}",
                gateway.log.text()
            );
            let url = ready?.get("listening")?.as_str()?.to_owned();
            Some(url.split_once("://")?.1.split('/').next()?.to_owned())
        });
        gateway
    }

    /// Starts it where it cannot start; what it says of that.
    pub fn start_and_fail(self) -> String {
        let mut gateway = self.spawn();
        let status = gateway.wait();
        let said = gateway.log.whole();
        assert!(!status.success(), "it should not start: {said}");
        said
    }

    fn spawn(self) -> Gateway {
        let mut child = self
            .command(&["--transport", "http", "--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let log = Log::collect(child.stderr.take().unwrap());
        Gateway { child, log, address: String::new(), home: self.home }
    }

    /// Starts it for one client on its standard input and output.
    pub fn start_stdio(self) -> StdioClient {
        let (gateway, input, output) = self.start_on_pipes();
        StdioClient::over(gateway, input, output)
    }

    /// The same without the client.
    pub fn start_on_pipes(self) -> (Gateway, ChildStdin, ChildStdout) {
        let mut child = self
            .command(&["--transport", "stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Log::collect(child.stderr.take().unwrap());
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        (Gateway { child, log, address: String::new(), home: self.home }, input, output)
    }

    fn command(&self, how: &[&str]) -> Command {
        let home = self.home.path();
        let mut command = match self.largest_file {
            None => Command::new(binary()),
            Some(blocks) => {
                let mut shell = Command::new("sh");
                let limited = format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$0\" \"$@\"");
                shell.arg("-c").arg(limited).arg(binary());
                shell
            }
        };
        command
            .arg("start")
            .args(how)
            .arg("--state-dir")
            .arg(home.join("state"))
            .args(["--log-format", "json"])
            .args(&self.arguments)
            .current_dir(home)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state-home"))
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }
}

/// A gateway that runs. Dropping it kills it and fails the test where one of its children stays.
#[derive(Debug)]
pub struct Gateway {
    child: Child,
    log: Log,
    address: String,
    home: Arc<TempDir>,
}

impl Gateway {
    /// A gateway before one server.
    pub fn before(name: &str, target: impl AsRef<str>) -> Gateway {
        Setup::new().server(name, target).start()
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The folder that is its home; its state is in `state` there.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// What it logged so far.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// All processes that it started and that are still there, at any depth.
    pub fn descendants(&self) -> Vec<Process> {
        let mut found = processes::with_environment(&format!("HOME={}", self.home().display()));
        found.retain(|process| process.id != self.id());
        found
    }

    /// Its children that are dead and that it has not waited for.
    pub fn zombies(&self) -> Vec<Process> {
        let mut found = processes::children(self.id());
        found.retain(|process| process.state == 'Z');
        found
    }

    /// Puts another configuration in place of the one it was started with.
    pub fn rewrite(&self, yaml: &str) {
        let (new, file) = (self.home().join("toolgate.yaml.new"), self.home().join("toolgate.yaml"));
        fs::write(&new, yaml).unwrap();
        fs::rename(new, file).unwrap();
    }

    /// Makes it read its configuration again; what changed, as the command says it in JSON.
    pub fn reload(&self) -> Value {
        let home = self.home();
        let output = Command::new(binary())
            .args(["reload", "--json", "--config"])
            .arg(home.join("toolgate.yaml"))
            .arg("--state-dir")
            .arg(home.join("state"))
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Asks it to stop and waits until it has.
    pub fn stop(&mut self) -> ExitStatus {
        processes::signal(self.id(), "TERM");
        self.wait()
    }

    /// Kills it without a warning.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops it and gives the setup of another one with the same home, that is with what this one remembered.
    pub fn succeed(mut self) -> Setup {
        if self.ended().is_none() {
            self.stop();
        }
        Setup::new().after(&self)
    }

    /// Waits until it has ended by itself.
    pub fn wait(&mut self) -> ExitStatus {
        eventually("the gateway ends", || self.ended())
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.kill();
        }
        if thread::panicking() {
            // The first failure is the one to read.
            eprintln_log(&self.log);
            return;
        }
        eventually("all children of the gateway end with it", || {
            let left = self.descendants();
            left.is_empty().then_some(())
        });
    }
}

#[expect(clippy::print_stderr, reason = "a failed test shows what the gateway said")]
fn eprintln_log(log: &Log) {
    eprintln!("the gateway said:\n{}", log.text());
}

/// What a gateway says on standard error.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Said>>);

#[derive(Default, Debug)]
struct Said {
    lines: Vec<String>,
    is_over: bool,
}

impl Log {
    fn collect(stderr: ChildStderr) -> Log {
        let log = Log::default();
        let said = log.clone();
        // The thread ends with the pipe, that is with the gateway.
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                said.0.lock().unwrap().lines.push(line);
            }
            said.0.lock().unwrap().is_over = true;
        });
        log
    }

    /// What it has said so far.
    pub fn text(&self) -> String {
        self.0.lock().unwrap().lines.join("\n")
    }

    /// All of it: waits for the end.
    fn whole(&self) -> String {
        eventually("the end of the log", || self.0.lock().unwrap().is_over.then_some(()));
        self.text()
    }

    /// The first record that has this field.
    pub fn find(&self, field: &str) -> Option<Value> {
        let said = self.0.lock().unwrap();
        said.lines
            .iter()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .find(|line| line.get(field).is_some())
    }

    /// Waits until it says this.
    pub fn until(&self, words: &str) {
        eventually(&format!("the log says '{words}'"), || self.text().contains(words).then_some(()));
    }
}
