//! `toolgate explain`: which rule decides about a call, and why.

use std::process::ExitCode;

use clap::Args;
use http::Method;
use serde_json::Value;

use crate::failure::Failure;
use crate::operators::{self, OperatorArgs, Otherwise, Question};
use crate::output::{Cell, Output, Paint};

const AFTER_HELP: &str = "\
Every stage is shown, also those after the one that stops the call; nothing is called and nothing is counted. The
running gateway is asked; without one, the configuration and the ledger are.

Example:
  toolgate explain --client anna --tool db__drop_table --arguments '{\"table\": \"orders\"}'";

/// Which call.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ExplainArgs {
    /// The client, as policy and ledger name it
    #[arg(long, value_name = "NAME")]
    client: String,
    /// Its groups, separated by commas. Without it, those of the configuration and its API keys
    #[arg(long, value_name = "GROUPS")]
    groups: Option<String>,
    #[command(flatten)]
    what: What,
    /// The arguments, as a JSON object
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
    /// What the request itself leaves out, as in the header X-Toolgate-Tools: patterns of tools, separated by commas
    #[arg(long, value_name = "PATTERNS")]
    narrow: Option<String>,
    #[command(flatten)]
    operator: OperatorArgs,
}

/// What it would call, read or get.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct What {
    /// The tool, as clients name it
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// The address of a resource
    #[arg(long, value_name = "URI")]
    resource: Option<String>,
    /// The prompt, as clients name it
    #[arg(long, value_name = "NAME")]
    prompt: Option<String>,
}

/// Explains a call.
pub(crate) fn run(args: &ExplainArgs, output: &Output) -> Result<ExitCode, Failure> {
    let parameters = [
        ("caller", Some(args.client.as_str())),
        ("groups", args.groups.as_deref()),
        ("tool", args.what.tool.as_deref()),
        ("resource", args.what.resource.as_deref()),
        ("prompt", args.what.prompt.as_deref()),
        ("arguments", args.arguments.as_deref()),
        ("narrow", args.narrow.as_deref()),
    ];
    let question =
        Question { method: Method::GET, path: "/explain", parameters: &parameters, body: Value::Null };
    let answer = operators::ask(&args.operator, Otherwise::MakeOne, &question)?;
    if output.json {
        output.value(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or("-").to_owned();
    let stages = answer.get("stages").and_then(Value::as_array).into_iter().flatten();
    let rows: Vec<Vec<Cell>> = stages
        .map(|stage| {
            let outcome = text(stage, "outcome");
            let paint = paint(&outcome);
            vec![
                text(stage, "stage").into(),
                Cell(outcome, paint),
                text(stage, "rule").into(),
                text(stage, "words").into(),
            ]
        })
        .collect();
    output.table(&["STAGE", "OUTCOME", "RULE", "WHY"], &rows);
    let outcome = text(&answer, "outcome");
    output.line(&output.painted(&summary(&answer, &outcome), paint(&outcome)));
    Ok(ExitCode::SUCCESS)
}

fn summary(answer: &Value, outcome: &str) -> String {
    match answer.get("stopped_at").and_then(Value::as_str) {
        None => "the call would run".to_owned(),
        Some(stage) => format!("the call would not run: {} at {stage}", outcome.replace('_', " ")),
    }
}

fn paint(outcome: &str) -> Paint {
    match outcome {
        "passes" => Paint::Good,
        "needs_approval" => Paint::Doubtful,
        _ => Paint::Bad,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_line_says_what_would_happen() {
        let check = |answer: &Value, expected: &str| {
            let outcome = answer.get("outcome").and_then(Value::as_str).unwrap();
            assert_eq!(summary(answer, outcome), expected);
        };
        check(&json!({"outcome": "passes", "stopped_at": null}), "the call would run");
        check(
            &json!({"outcome": "needs_approval", "stopped_at": "approval"}),
            "the call would not run: needs approval at approval",
        );
    }
}
