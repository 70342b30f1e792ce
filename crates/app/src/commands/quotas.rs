//! `toolgate quotas`: what is left of a client's budgets and limits.

use std::process::ExitCode;

use clap::Args;
use http::Method;
use serde_json::Value;
use toolgate_governance::Micros;

use crate::failure::Failure;
use crate::operators::{self, OperatorArgs, Otherwise, Question};
use crate::output::{Cell, Output, Paint};

const AFTER_HELP: &str = "\
The running gateway is asked; without one, the configuration and the ledger are.

Example:
  toolgate quotas --client anna --json | jq '.limits[] | select(.remaining == 0)'";

/// Whose quotas.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct QuotasArgs {
    /// The client, as policy and ledger name it
    #[arg(long, value_name = "NAME")]
    client: String,
    /// Its groups, separated by commas. Without it, those of the configuration and its API keys
    #[arg(long, value_name = "GROUPS")]
    groups: Option<String>,
    /// Only limits that count this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    #[command(flatten)]
    operator: OperatorArgs,
}

/// Shows quotas.
pub(crate) fn run(args: &QuotasArgs, output: &Output) -> Result<ExitCode, Failure> {
    let parameters = [
        ("caller", Some(args.client.as_str())),
        ("groups", args.groups.as_deref()),
        ("tool", args.tool.as_deref()),
    ];
    let question =
        Question { method: Method::GET, path: "/quotas", parameters: &parameters, body: Value::Null };
    let answer = operators::ask(&args.operator, Otherwise::MakeOne, &question)?;
    if output.json {
        output.value(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    let limits = answer.get("limits").and_then(Value::as_array).into_iter().flatten();
    let rows: Vec<Vec<Cell>> = limits.map(row).collect();
    if rows.is_empty() {
        output.note("note: no limit counts the calls of this client");
    }
    output.table(&["RULE", "MEASURE", "USED", "LIMIT", "LEFT", "RESETS", "TOOLS"], &rows);
    if let Some(month) = answer.get("month").filter(|month| !month.is_null()) {
        let number = |key: &str| month.get(key).and_then(Value::as_u64).unwrap_or_default();
        let cost = Micros(number("price_settled"));
        output.note(&format!("note: the ledger has {} calls this month, which cost {cost}", number("calls")));
    }
    Ok(ExitCode::SUCCESS)
}

fn row(limit: &Value) -> Vec<Cell> {
    let text = |key: &str| limit.get(key).and_then(Value::as_str).unwrap_or("-").to_owned();
    let measure = text("measure");
    let is_money = matches!(measure.as_str(), "budget_per_month" | "max_per_call");
    let amount = |key: &str| {
        let number = limit.get(key).and_then(Value::as_u64).unwrap_or_default();
        if is_money { Micros(number).to_string() } else { number.to_string() }
    };
    let left = amount("remaining");
    let paint = if left == "0" { Paint::Bad } else { Paint::Plain };
    let tools = limit.get("tools").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    vec![
        text("rule").into(),
        measure.into(),
        amount("used").into(),
        amount("limit").into(),
        Cell(left, paint),
        text("resets_at").into(),
        tools.collect::<Vec<_>>().join(", ").into(),
    ]
}
