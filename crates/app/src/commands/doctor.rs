//! `toolgate doctor`: what is wrong on this machine, and what to do about each thing.

mod handlers;
mod machine;
mod programs;
mod servers;

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use toolgate_config::Loaded;

use crate::cli::ConfigArgs;
use crate::connection::{self, block_on};
use crate::failure::Failure;
use crate::logs;
use crate::output::{Output, Paint};
use crate::startup::files;

const AFTER_HELP: &str = "\
Checks the configuration, the programs its servers need, the Python of its handlers, the port, the permissions of folders
and files with secrets, unset variables, and whether every server answers.

Exits with 0 if nothing is wrong, with 1 if something is.";

/// What is checked.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DoctorArgs {
    /// Connect to no server
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Severity {
    Ok,
    Warning,
    Problem,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    severity: Severity,
    /// What it is about: `configuration`, `port`, `server github` …
    subject: String,
    /// How it is.
    what: String,
    /// What to do; empty where it is fine.
    help: String,
}

impl Finding {
    fn ok(subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self { severity: Severity::Ok, subject: subject.into(), what: what.into(), help: String::new() }
    }

    fn warning(subject: impl Into<String>, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, subject: subject.into(), what: what.into(), help: help.into() }
    }

    fn problem(subject: impl Into<String>, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { severity: Severity::Problem, subject: subject.into(), what: what.into(), help: help.into() }
    }
}

/// Looks at everything.
pub(crate) fn run(args: &DoctorArgs, output: &Output) -> Result<ExitCode, Failure> {
    let loaded = files::load(&args.config, args.config.overrides());
    logs::begin_quietly(args.config.log_level.as_deref(), &loaded.config.log);
    let mut findings = Vec::new();
    block_on(async {
        let running = connection::running(&args.config, &loaded).await.map(|(_, status)| status);
        findings.extend(configuration(args, &loaded, running.as_ref()));
        findings.extend(programs::check(&loaded.config));
        findings.extend(handlers::check(&loaded.config).await);
        findings.extend(machine::check(&loaded.config, running.as_ref()));
        if !args.offline && loaded.problems.is_empty() {
            findings.extend(servers::check(&loaded, running).await?);
        }
        Ok(())
    })?;
    let well = !findings.iter().any(|finding| finding.severity == Severity::Problem);
    if output.json {
        output.value(&json!({"ok": well, "findings": findings}));
    } else {
        findings.iter().for_each(|finding| tell(finding, output));
    }
    Ok(ExitCode::from(u8::from(!well)))
}

fn tell(finding: &Finding, output: &Output) {
    let (word, paint) = match finding.severity {
        Severity::Ok => ("ok", Paint::Good),
        Severity::Warning => ("warning", Paint::Doubtful),
        Severity::Problem => ("problem", Paint::Bad),
    };
    output.line(&format!("{} {}: {}", output.painted(word, paint), finding.subject, finding.what));
    if !finding.help.is_empty() {
        output.line(&format!("   {}", finding.help));
    }
}

fn configuration(args: &DoctorArgs, loaded: &Loaded, running: Option<&Value>) -> Vec<Finding> {
    let subject = "configuration";
    let paths = files::paths(&args.config);
    let mut findings = Vec::new();
    if paths.is_empty() && loaded.config.servers.is_empty() {
        let help = "write one with `toolgate init` or `toolgate import`, or name one with --config";
        findings.push(Finding::problem(subject, "none was found", help));
    }
    for problem in &loaded.problems {
        findings.push(Finding::problem(subject, problem.to_string(), "put the file right"));
    }
    for (server, reason) in connection::disabled(loaded, running) {
        let help = "set what is missing in the environment of the gateway, or set enabled: false";
        findings.push(Finding::problem(format!("server {server}"), format!("disabled: {reason}"), help));
    }
    // A disabled server is among the warnings too.
    let is_new = |path: &str| !loaded.disabled.keys().any(|name| path == format!("servers.{name}"));
    for warning in loaded.warnings.iter().filter(|warning| is_new(&warning.path)) {
        findings.push(Finding::warning(subject, warning.to_string(), ""));
    }
    if findings.is_empty() {
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        findings.push(Finding::ok(subject, format!("{} is valid", names.join(", "))));
    }
    findings
}
