//! `toolgate ledger tail`: straight from the journal, so that a call is seen as soon as it is recorded.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use toolgate_governance::Micros;
use toolgate_ledger::Record;
use toolgate_ledger::export::write_json_line;
use toolgate_ledger::journal::Position;
use toolgate_ledger::journal::folder::{folders, segments};
use toolgate_ledger::journal::settle::settle;
use toolgate_ledger::journal::walk::FolderWalk;

use super::query::milliseconds;
use super::{LedgerArgs, failed};
use crate::failure::Failure;
use crate::output::Output;

/// How long we wait before we look for new records.
const LOOK: Duration = Duration::from_millis(200);
/// The most records that are shown of the past.
const MOST: usize = 100_000;

/// How much is shown.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  toolgate ledger tail --follow --json | jq -c 'select(.status != \"ok\")'"
)]
pub(crate) struct TailArgs {
    /// How many calls of the past
    #[arg(short = 'n', long, default_value_t = 20)]
    lines: usize,
    /// Go on with the calls to come, until ended
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Shows the end of the journal.
pub(super) fn run(args: &TailArgs, output: &Output) -> Result<ExitCode, Failure> {
    let root = args.ledger.root()?;
    settle(&root).map_err(failed)?;
    let mut journal = Journal::default();
    let mut records: Vec<Record> = Vec::new();
    for folder in folders(&root).map_err(failed)? {
        records.extend(journal.last(&folder, args.lines.min(MOST))?);
    }
    records.sort_by_key(|record| record.time_us);
    let first = records.len().saturating_sub(args.lines);
    let mut is_read = records.iter().skip(first).try_for_each(|record| write(record, output.json)).is_ok();
    // Who closes the pipe wants no more.
    while args.follow && is_read {
        thread::sleep(LOOK);
        for folder in folders(&root).map_err(failed)? {
            is_read = is_read && journal.next(&folder, |record| write(record, output.json))?.is_ok();
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How far the journal of each writer has been read.
#[derive(Debug, Default)]
struct Journal {
    positions: BTreeMap<PathBuf, Position>,
}

impl Journal {
    /// The last records of a writer. Those of the last two segments are enough: one is large.
    fn last(&mut self, folder: &Path, count: usize) -> Result<VecDeque<Record>, Failure> {
        let segments = segments(folder).map_err(failed)?;
        let segment = segments.iter().rev().take(2).map(|(number, _)| *number).min().unwrap_or_default();
        self.positions.insert(folder.to_owned(), Position { segment, offset: 0 });
        let mut last = VecDeque::new();
        let read = self.next(folder, |record| {
            if last.len() == count {
                last.pop_front();
            }
            if count > 0 {
                last.push_back(record.clone());
            }
            Ok(())
        });
        read?.map_err(failed)?;
        Ok(last)
    }

    /// Hands over what a writer wrote since it was last looked at, until `take` fails.
    fn next(
        &mut self,
        folder: &Path,
        mut take: impl FnMut(&Record) -> io::Result<()>,
    ) -> Result<io::Result<()>, Failure> {
        let position = self.positions.entry(folder.to_owned()).or_default();
        let mut walk = FolderWalk::new(folder, *position, None).map_err(failed)?;
        // Damage is what `ledger verify` is for; here the rest is shown.
        let taken = walk.by_ref().flatten().try_for_each(|(_, record)| take(&record));
        *position = walk.position();
        Ok(taken)
    }
}

fn write(record: &Record, json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        return write_json_line(record, &mut out);
    }
    let time = Timestamp::from_microsecond(record.time_us).unwrap_or_default();
    let (status, caller, tool) = (record.status.as_str(), &record.caller, &record.exposed);
    let duration = milliseconds(record.duration_us);
    let price = Micros(record.price_settled);
    writeln!(out, "{time:.3}\t{status}\t{caller}\t{tool}\t{duration} ms\t{price}")
}
