//! Running programs one after the other, each with a name and its time, without stopping at the first that fails. What
//! mostly waits for a network runs beside the others, one by one, from the start.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

/// One program to run.
#[derive(Debug)]
pub(crate) struct Step {
    /// What the step is called in the output and when steps are chosen.
    pub(crate) name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    environment: Vec<(&'static str, PathBuf)>,
    is_beside: bool,
}

/// What became of a step.
struct Outcome {
    result: Result<(), String>,
    seconds: f64,
}

impl Step {
    /// A step that runs `command`, whose words are separated by single spaces, in `folder`.
    pub(crate) fn new(name: &'static str, folder: &Path, command: &str) -> Self {
        let mut words = command.split(' ').map(str::to_owned);
        let program = words.next().unwrap_or_default().into();
        Self {
            name,
            program,
            arguments: words.collect(),
            folder: folder.to_owned(),
            environment: Vec::new(),
            is_beside: false,
        }
    }

    /// Adds one argument that may contain spaces.
    pub(crate) fn argument(mut self, argument: &Path) -> Self {
        self.arguments.push(argument.display().to_string());
        self
    }

    /// Sets a variable in the environment of the program.
    pub(crate) fn with(mut self, name: &'static str, value: &Path) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    /// Starts the step with the first one. Its output is shown in its place, which is the first that may rely on it.
    pub(crate) fn beside(mut self) -> Self {
        self.is_beside = true;
        self
    }

    fn command(&self) -> Command {
        // A relative program path would be looked up in the folder of the caller, not in that of the step.
        let local = self.folder.join(&self.program);
        let program = if local.is_file() { &local } else { &self.program };
        let mut command = Command::new(program);
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn run(&self) -> Outcome {
        self.timed(|mut command| command.status())
    }

    fn run_beside(&self) -> (Outcome, Vec<u8>) {
        let mut shown = Vec::new();
        let outcome = self.timed(|mut command| {
            let output = command.output()?;
            shown = [output.stdout, output.stderr].concat();
            Ok(output.status)
        });
        (outcome, shown)
    }

    fn timed(&self, run: impl FnOnce(Command) -> io::Result<ExitStatus>) -> Outcome {
        let begin = Instant::now();
        let result = match run(self.command()) {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(status.to_string()),
            Err(error) => {
                let (program, folder) = (self.program.display(), self.folder.display());
                Err(format!("cannot run {program} in {folder}: {error}"))
            }
        };
        Outcome { result, seconds: begin.elapsed().as_secs_f64() }
    }
}

/// Runs all steps, prints what became of each, and fails if one of them failed or there was none.
pub(crate) fn run_all(steps: &[Step]) -> ExitCode {
    let mut lines = Vec::new();
    let mut failed = 0;
    thread::scope(|scope| {
        let (ended, beside) = mpsc::channel();
        scope.spawn(move || {
            for step in steps.iter().filter(|step| step.is_beside) {
                if ended.send(step.run_beside()).is_err() {
                    return;
                }
            }
        });
        for step in steps {
            println!("=== {}", step.name);
            let outcome = match step.is_beside.then(|| beside.recv()) {
                Some(Ok((outcome, shown))) => {
                    // Nobody reads what cannot be shown.
                    drop(io::stdout().write_all(&shown));
                    outcome
                }
                _ => step.run(),
            };
            let line = outcome.line(step.name);
            println!("{line}");
            failed += usize::from(outcome.result.is_err());
            lines.push(line);
        }
    });
    println!("=== summary");
    for line in &lines {
        println!("{line}");
    }
    println!("{} passed, {failed} failed", lines.len() - failed);
    if failed == 0 && !lines.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Outcome {
    fn line(&self, name: &str) -> String {
        match &self.result {
            Ok(()) => format!("passed {name} {:.1} s", self.seconds),
            Err(cause) => format!("FAILED {name} {:.1} s ({cause})", self.seconds),
        }
    }
}
