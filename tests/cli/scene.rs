//! A scene for commands: a folder of their own, no variables but those that are named, and at most one gateway.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use snapbox::cmd::{Command, OutputAssert};
use snapbox::{Assert, IntoData, Redactions};
use tempfile::TempDir;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server that tests are made with.
pub(crate) const PLAIN_SERVER: &str = env!("CARGO_BIN_EXE_plain_server");

/// The binary under test: `TOOLGATE_BIN`, or the one that was built beside the tests.
pub(crate) fn toolgate() -> PathBuf {
    if let Some(path) = std::env::var_os("TOOLGATE_BIN") {
        return PathBuf::from(path);
    }
    let path = Path::new(PLAIN_SERVER).with_file_name("toolgate");
    assert!(path.exists(), "{} is missing; run `cargo build -p toolgate`", path.display());
    path
}

/// A file with the plain server under each of these names, whose gateway keeps its state beside it.
pub(crate) fn plain_servers(names: &[&str]) -> String {
    let records: Vec<String> =
        names.iter().map(|name| format!("  {name}: {{command: {PLAIN_SERVER}}}\n")).collect();
    format!("state_dir: state\nservers:\n{}", records.concat())
}

/// A folder with a home in it.
pub(crate) struct Scene {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Scene {
    /// A scene with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Scene {
        let scene = Scene { folder: tempfile::tempdir().unwrap(), variables: Vec::new() };
        files.iter().for_each(|(name, text)| scene.write(name, text));
        scene
    }

    /// A scene whose `toolgate.yaml` has the plain server as `plain`.
    pub(crate) fn with_plain_server() -> Scene {
        Scene::with(&[("toolgate.yaml", &format!("servers:\n  plain:\n    command: {PLAIN_SERVER}\n"))])
    }

    /// The same with a variable set.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Scene {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same without a variable that was set.
    pub(crate) fn unset(mut self, name: &str) -> Scene {
        self.variables.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Puts a new file in place of one at once, as editors do.
    pub(crate) fn replace(&self, name: &str, text: &str) {
        self.write("replacement", text);
        std::fs::rename(self.path("replacement"), self.path(name)).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs a command line to its end and compares its exit code and what it printed.
    #[track_caller]
    pub(crate) fn check(&self, line: &[&str], code: i32, stdout: impl IntoData, stderr: impl IntoData) {
        self.run(line).code(code).stdout_eq(stdout).stderr_eq(stderr);
    }

    /// Runs a command line to its end.
    pub(crate) fn run(&self, line: &[&str]) -> OutputAssert {
        self.command(line).assert()
    }

    /// Runs a command line with something on its standard input.
    pub(crate) fn run_with_input(&self, line: &[&str], input: &str) -> OutputAssert {
        self.command(line).stdin(input.to_owned()).assert()
    }

    /// Runs a command at a terminal, where somebody types these answers; what the terminal shows at the end.
    pub(crate) fn at_terminal(&self, line: &str, answers: &str) -> String {
        let mut terminal = std::process::Command::new("script")
            .args(["--quiet", "--return", "--command"])
            .arg(format!("{} {line}", toolgate().display()))
            .arg("/dev/null")
            .current_dir(self.folder.path())
            .env_clear()
            .envs(self.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        terminal.stdin.take().unwrap().write_all(answers.as_bytes()).unwrap();
        let output = terminal.wait_with_output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout).replace('\r', "");
        assert!(output.status.success(), "{shown}");
        shown
    }

    fn command(&self, line: &[&str]) -> Command {
        let mut redactions = Redactions::new();
        redactions.insert("[SERVER]", PLAIN_SERVER.to_owned()).unwrap();
        redactions.insert("[FOLDER]", self.folder.path().display().to_string()).unwrap();
        Command::new(toolgate())
            .with_assert(Assert::new().action_env("SNAPSHOTS").normalize_paths(false).redact_with(redactions))
            .args(line)
            .current_dir(self.folder.path())
            .env_clear()
            .envs(self.environment())
            .timeout(PATIENCE)
    }

    fn environment(&self) -> Vec<(String, String)> {
        let home = self.path("home").display().to_string();
        let mut environment = vec![("PATH".into(), "/usr/bin:/bin".into()), ("HOME".into(), home)];
        environment.extend(self.variables.iter().cloned());
        environment
    }

    /// Starts a gateway over HTTP and waits until it is ready.
    pub(crate) fn start(&self, line: &[&str]) -> Running {
        let running = self.start_and_see(line);
        running.line("\"listening\"");
        running
    }

    /// Starts a gateway over HTTP. Its log can be seen from the beginning.
    pub(crate) fn start_and_see(&self, line: &[&str]) -> Running {
        let mut child = std::process::Command::new(toolgate())
            .args(["start", "--transport", "http", "--port", "0"])
            .args(line)
            .current_dir(self.folder.path())
            .env_clear()
            .envs(self.environment())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let log = BufReader::new(child.stderr.take().unwrap());
        // Ends with the process, whose log ends then.
        std::thread::spawn(move || log.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Running { child, lines }
    }
}

/// A gateway that runs until this value is dropped.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    /// Waits for a line of the log that has `words` in it.
    pub(crate) fn line(&self, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            if line.contains(words) {
                return line;
            }
            seen.push(line);
        }
        panic!("the log never said {words}:\n{}", seen.join("\n"));
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal("TERM");
        self.child.wait().unwrap();
    }
}
