//! A server as a child process that cannot outlive us.
//!
//! The difficulty is the tree: `npx` and `uvx` start the real server as a grandchild, which no parent-death signal
//! reaches. So every child leads a process group of its own; the group is signalled as a whole, and a [`guard`] process
//! ends it even if we are killed.

mod environment;
mod guard;
pub(crate) mod nursery;
mod spawner;
pub(crate) mod stderr;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use nursery::ChildPlace;
use stderr::Tail;

/// How long a child may take to leave after its input was closed, and after SIGTERM.
const AFTER_CLOSING: Duration = Duration::from_millis(700);
const AFTER_SIGTERM: Duration = Duration::from_millis(2000);

/// How long the last words of a child that has ended may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) cwd: Option<&'a Path>,
}

/// A running child and all that it started.
#[derive(Debug)]
pub(crate) struct Child {
    process: tokio::process::Child,
    group: guard::Group,
    tail: Arc<Tail>,
    _place: ChildPlace,
}

/// The three streams of a child.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Child {
    /// Starts a program, which has its `place` as long as it lives. What it says on stderr must be put into `tail` by
    /// reading the stream.
    pub(crate) async fn start(
        program: Program<'_>,
        tail: Arc<Tail>,
        place: ChildPlace,
    ) -> Result<(Child, Streams), String> {
        let mut command = Command::new(program.command);
        command.args(program.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env_clear().envs(environment::inherited()).envs(program.env);
        if let Some(directory) = program.cwd {
            command.current_dir(directory);
        }
        let failed = |cause: String| format!("cannot start '{}': {cause}", program.command);
        let mut process = spawner::spawn(command).await.map_err(|error| failed(error.to_string()))?;
        let id = process.id().ok_or_else(|| failed("it ended at once".to_owned()))?;
        let group = guard::Group::led_by(id);
        let streams = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(failed("its streams could not be opened".to_owned()));
        };
        Ok((Child { process, group, tail, _place: place }, Streams { stdin, stdout, stderr }))
    }

    /// Waits until the child has ended and says how, with its last words.
    pub(crate) async fn finished(&mut self) -> String {
        let ending = match self.process.wait().await {
            Ok(status) => in_words(status),
            Err(error) => format!("its end could not be observed: {error}"),
        };
        self.group.kill();
        let _ = timeout(LAST_WORDS, self.tail.ended()).await;
        match self.tail.text() {
            text if text.is_empty() => ending,
            text => format!("{ending}; the end of its stderr: {text}"),
        }
    }

    /// Ends the child and all that it started: it may leave by itself, then SIGTERM, then SIGKILL. Its input must
    /// have been closed before.
    pub(crate) async fn close(mut self) {
        if timeout(AFTER_CLOSING, self.process.wait()).await.is_err() {
            self.group.terminate();
            if timeout(AFTER_SIGTERM, self.process.wait()).await.is_err() {
                self.group.kill();
                let _ = self.process.wait().await;
            }
        }
        self.group.kill();
    }
}

fn in_words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("the process exited with status {code}"),
        (None, Some(signal)) => format!("the process was ended by signal {signal}"),
        (None, None) => "the process ended".to_owned(),
    }
}
