//! `toolgate ledger export`

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use toolgate_ledger::Record;
use toolgate_ledger::export::{ExportError, Format, export};
use toolgate_ledger::replay::Replay;

use super::{FilterArgs, LedgerArgs, TimeArgs, failed};
use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Records are read from the journal, with their bodies, writer by writer in the order they were written.

Examples:
  toolgate ledger export --since 24h > calls.jsonl
  toolgate ledger export --format parquet --output july.parquet --since 2026-07-01 --until 2026-08-01";

/// What is written, and where.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ExportArgs {
    /// Form of the export: jsonl, csv or parquet
    #[arg(long, value_name = "FORM", default_value = "jsonl")]
    format: Format,
    /// File to write. Without it, standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    time: TimeArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Writes records.
pub(super) fn run(args: &ExportArgs, output: &Output) -> Result<ExitCode, Failure> {
    let since = args.time.since.map_or(i64::MIN, |moment| moment.0.as_microsecond());
    let records = Replay::since(&args.ledger.root()?, since).map_err(failed)?;
    let records = records.filter(|record| record.as_ref().map_or(true, |record| args.wants(record)));
    let exported = match &args.output {
        None => export(args.format, records, io::stdout().lock()),
        Some(path) => {
            let file = File::create(path);
            let file = file.map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
            export(args.format, records, file)
        }
    };
    match exported {
        Ok(count) => {
            if args.output.is_some() {
                output.note(&format!("note: {count} records were written"));
            }
            Ok(ExitCode::SUCCESS)
        }
        // A reader that has closed the pipe wants no more.
        Err(ExportError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(failed(error)),
    }
}

impl ExportArgs {
    fn wants(&self, record: &Record) -> bool {
        let FilterArgs { caller, server, tool, status } = &self.filter;
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        is(caller, &record.caller)
            && is(server, &record.server)
            && is(tool, &record.exposed)
            && status.is_none_or(|status| status == record.status)
            && self.time.kind.is_none_or(|kind| kind == record.kind)
            && self.time.until.is_none_or(|until| record.time_us < until.0.as_microsecond())
    }
}
