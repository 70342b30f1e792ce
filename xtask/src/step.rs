//! Running programs one after the other, each with a name and its time, without stopping at the first that fails.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
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
}

impl Step {
    /// A step that runs `command`, whose words are separated by single spaces, in `folder`.
    pub(crate) fn new(name: &'static str, folder: &Path, command: &str) -> Self {
        let mut words = command.split(' ').map(str::to_owned);
        let program = words.next().unwrap_or_default().into();
        Self { name, program, arguments: words.collect(), folder: folder.to_owned(), environment: Vec::new() }
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

    fn run(&self) -> Result<(), String> {
        // A relative program path would be looked up in the folder of the caller, not in that of the step.
        let local = self.folder.join(&self.program);
        let program = if local.is_file() { &local } else { &self.program };
        let status = Command::new(program)
            .args(&self.arguments)
            .current_dir(&self.folder)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .status()
            .map_err(|error| {
                format!("cannot run {} in {}: {error}", program.display(), self.folder.display())
            })?;
        if status.success() { Ok(()) } else { Err(status.to_string()) }
    }
}

/// Runs all steps, prints what became of each, and fails if one of them failed or there was none.
pub(crate) fn run_all(steps: &[Step]) -> ExitCode {
    let mut outcomes = Vec::new();
    for step in steps {
        println!("=== {}", step.name);
        let begin = Instant::now();
        let result = step.run();
        let seconds = begin.elapsed().as_secs_f64();
        let outcome = match &result {
            Ok(()) => format!("passed {} {seconds:.1} s", step.name),
            Err(cause) => format!("FAILED {} {seconds:.1} s ({cause})", step.name),
        };
        println!("{outcome}");
        outcomes.push((result.is_ok(), outcome));
    }
    println!("=== summary");
    for (_, outcome) in &outcomes {
        println!("{outcome}");
    }
    let passed = outcomes.iter().filter(|(succeeded, _)| *succeeded).count();
    let failed = outcomes.len() - passed;
    println!("{passed} passed, {failed} failed");
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
