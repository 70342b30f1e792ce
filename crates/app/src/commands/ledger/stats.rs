//! `toolgate ledger stats`

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use toolgate_admin::answers::StatisticsRow;
use toolgate_admin::questions::{By, Day, StatisticsQuery};
use toolgate_governance::Micros;

use super::query::milliseconds;
use super::{FilterArgs, LedgerArgs, failed, failure};
use crate::failure::Failure;
use crate::output::{Cell, Output, Paint};

/// What is added up.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  toolgate ledger stats --by tool --caller anna --from 2026-07-01 --to 2026-07-31"
)]
pub(crate) struct StatsArgs {
    /// One row for each of these
    #[arg(long, value_enum, default_value = "caller")]
    by: ByArg,
    #[command(flatten)]
    filter: FilterArgs,
    /// The first day, in UTC. Without it, the first of this month
    #[arg(long, value_name = "DAY")]
    from: Option<Day>,
    /// The last day. Without it, today
    #[arg(long, value_name = "DAY")]
    to: Option<Day>,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// What calls are grouped by.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ByArg {
    Caller,
    Tool,
    Server,
    Status,
    Day,
    Month,
}

/// Adds calls up.
pub(super) fn run(args: &StatsArgs, output: &Output) -> Result<ExitCode, Failure> {
    let store = args.ledger.index()?;
    let query = StatisticsQuery {
        by: match args.by {
            ByArg::Caller => By::Caller,
            ByArg::Tool => By::Tool,
            ByArg::Server => By::Server,
            ByArg::Status => By::Status,
            ByArg::Day => By::Day,
            ByArg::Month => By::Month,
        },
        caller: args.filter.caller.clone(),
        server: args.filter.server.clone(),
        tool: args.filter.tool.clone(),
        status: args.filter.status,
        from: args.from,
        to: args.to,
    };
    let statistics = toolgate_admin::statistics(&store, &query).map_err(failure)?;
    if output.json {
        output.value(&serde_json::to_value(&statistics).map_err(failed)?);
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<Cell>> = statistics.rows.iter().map(row).collect();
    output.table(&["GROUP", "CALLS", "FAILED", "MEAN MS", "PRICE"], &rows);
    Ok(ExitCode::SUCCESS)
}

fn row(group: &StatisticsRow) -> Vec<Cell> {
    let paint = if group.failed == 0 { Paint::Plain } else { Paint::Doubtful };
    vec![
        group.group.as_str().into(),
        group.calls.to_string().into(),
        Cell(group.failed.to_string(), paint),
        milliseconds(group.duration_us / group.calls.max(1)).into(),
        Micros(group.price_settled).to_string().into(),
    ]
}
