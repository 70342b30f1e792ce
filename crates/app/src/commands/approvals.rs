//! `toolgate approvals …`: calls that wait until somebody agrees.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Value, json};

use crate::clock::seconds_since_1970;
use crate::failure::Failure;
use crate::operators::{self, OperatorArgs, Otherwise, Question};
use crate::output::{Cell, Output};

/// Decide about calls that wait for an operator.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that wait, the oldest first
    List(ListArgs),
    /// Let a call run
    Approve(DecideArgs),
    /// Refuse a call
    Deny(DenyArgs),
}

/// Whose calls are listed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    operator: OperatorArgs,
}

/// Which call.
#[derive(Debug, Args)]
pub(crate) struct DecideArgs {
    /// Its number, as `approvals list` shows it
    id: u64,
    #[command(flatten)]
    operator: OperatorArgs,
}

/// Which call, and why not.
#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// What the client is told
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    decide: DecideArgs,
}

/// Runs a command of the group.
pub(crate) fn run(command: &ApprovalsCommand, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        ApprovalsCommand::List(args) => list(args, output),
        ApprovalsCommand::Approve(args) => decide(args, true, None, output),
        ApprovalsCommand::Deny(args) => decide(&args.decide, false, args.reason.as_deref(), output),
    }
}

fn list(args: &ListArgs, output: &Output) -> Result<ExitCode, Failure> {
    let question = Question { method: Method::GET, path: "/approvals", parameters: &[], body: Value::Null };
    let answer = operators::ask(&args.operator, Otherwise::Fail, &question)?;
    if output.json {
        output.value(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    let now = seconds_since_1970();
    let waiting = answer.get("approvals").and_then(Value::as_array).into_iter().flatten();
    let rows: Vec<Vec<Cell>> = waiting.map(|call| row(call, now)).collect();
    output.table(&["ID", "CALLER", "TOOL", "ARGUMENTS", "RULE", "LEFT"], &rows);
    Ok(ExitCode::SUCCESS)
}

fn row(call: &Value, now: u64) -> Vec<Cell> {
    let text = |key: &str| match call.get(key) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => "-".into(),
        Some(other) => other.to_string(),
    };
    let expires = call.get("expires").and_then(Value::as_u64).unwrap_or_default();
    let left = format!("{} s", expires.saturating_sub(now));
    let cells = ["id", "caller", "tool", "arguments", "rule"].map(|key| Cell::from(text(key)));
    cells.into_iter().chain([left.into()]).collect()
}

fn decide(
    args: &DecideArgs,
    approve: bool,
    reason: Option<&str>,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let question = Question {
        method: Method::POST,
        path: &format!("/approvals/{}", args.id),
        parameters: &[],
        body: json!({"approve": approve, "reason": reason}),
    };
    let answer = operators::ask(&args.operator, Otherwise::Fail, &question)?;
    if output.json {
        output.value(&answer);
    } else {
        output.line(&format!("call {} {}", args.id, if approve { "may run" } else { "is refused" }));
    }
    Ok(ExitCode::SUCCESS)
}
