//! `toolgate ledger query`

use std::process::ExitCode;

use clap::Args;
use toolgate_admin::answers::Call;
use toolgate_admin::questions::LedgerQuery;
use toolgate_governance::Micros;

use super::{FilterArgs, LedgerArgs, TimeArgs, failed, failure};
use crate::failure::Failure;
use crate::output::{Cell, Output, Paint};

const AFTER_HELP: &str = "\
Calls are found in the index, which follows a running gateway within a second; `ledger tail` does not wait for it.

Examples:
  toolgate ledger query --caller anna --since 24h --status denied
  toolgate ledger query --record local-0/17 --json      one call with its arguments and result";

/// Which calls.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    time: TimeArgs,
    /// How many calls at most, up to 1000
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// Go on behind a page: its `next`
    #[arg(long)]
    cursor: Option<String>,
    /// One call with its arguments and result
    #[arg(long, value_name = "REPLICA/SEQUENCE", value_parser = name, conflicts_with_all = ["cursor", "limit"])]
    record: Option<(String, u64)>,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Finds calls.
pub(super) fn run(args: &QueryArgs, output: &Output) -> Result<ExitCode, Failure> {
    let store = args.ledger.index()?;
    if let Some((replica, sequence)) = &args.record {
        let reader = toolgate_ledger::journal::reader::Reader::new(args.ledger.root()?);
        let record = toolgate_admin::record(&store, &reader, replica, *sequence).map_err(failure)?;
        output.value(&serde_json::to_value(record).map_err(failed)?);
        return Ok(ExitCode::SUCCESS);
    }
    let query = LedgerQuery {
        caller: args.filter.caller.clone(),
        server: args.filter.server.clone(),
        tool: args.filter.tool.clone(),
        kind: args.time.kind,
        status: args.filter.status,
        from: args.time.since,
        until: args.time.until,
        cursor: args.cursor.clone(),
        limit: Some(args.limit),
    };
    let page = toolgate_admin::page(&store, &query).map_err(failure)?;
    if output.json {
        output.value(&serde_json::to_value(&page).map_err(failed)?);
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<Cell>> = page.calls.iter().map(row).collect();
    output.table(&["TIME", "STATUS", "CALLER", "TOOL", "MS", "PRICE", "RECORD"], &rows);
    if let Some(next) = page.next {
        output.note(&format!("note: there are more; go on with --cursor {next}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// A call as cells.
fn row(call: &Call) -> Vec<Cell> {
    let paint = match call.status.as_str() {
        "ok" => Paint::Good,
        "denied" => Paint::Doubtful,
        _ => Paint::Bad,
    };
    let status = match call.error_code {
        Some(code) => format!("{} {code}", call.status),
        None => call.status.clone(),
    };
    vec![
        format!("{:.3}", call.time).into(),
        Cell(status, paint),
        call.caller.as_str().into(),
        call.tool.as_str().into(),
        milliseconds(call.duration_us).into(),
        Micros(call.price_settled).to_string().into(),
        format!("{}/{}", call.replica, call.sequence).into(),
    ]
}

/// Microseconds as people read them.
pub(super) fn milliseconds(microseconds: u64) -> String {
    format!("{}.{}", microseconds / 1000, microseconds / 100 % 10)
}

/// `REPLICA/SEQUENCE`.
fn name(text: &str) -> Result<(String, u64), String> {
    let parts = text.split_once('/').and_then(|(replica, sequence)| Some((replica, sequence.parse().ok()?)));
    let (replica, sequence) = parts.ok_or("must have the form REPLICA/SEQUENCE, such as local-0/17")?;
    Ok((replica.to_owned(), sequence))
}
