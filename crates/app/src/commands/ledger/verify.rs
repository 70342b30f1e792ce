//! `toolgate ledger verify`

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolgate_ledger::journal::verify::verify;

use super::{LedgerArgs, failed};
use crate::failure::Failure;
use crate::output::{Cell, Output, Paint};

const AFTER_HELP: &str = "\
Every checksum, every link of the hash chain and every number is checked. Exits with 1 where something is wrong.";

/// Which ledger.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Verifies a ledger.
pub(super) fn run(args: &VerifyArgs, output: &Output) -> Result<ExitCode, Failure> {
    let found = verify(&args.ledger.root()?).map_err(failed)?;
    let sound = found.iter().all(|writer| writer.damage.is_none());
    if output.json {
        output.value(&json!({"sound": sound, "writers": found}));
    } else {
        let rows: Vec<Vec<Cell>> = found
            .iter()
            .map(|writer| {
                let (words, paint) = match &writer.damage {
                    None if writer.landed > 0 => {
                        (format!("sound, {} more to be written", writer.landed), Paint::Good)
                    }
                    None => ("sound".to_owned(), Paint::Good),
                    Some(damage) => (damage.to_string(), Paint::Bad),
                };
                let sequences =
                    writer.sequences.map_or_else(|| "-".into(), |(one, last)| format!("{one}-{last}"));
                vec![
                    writer.replica.as_str().into(),
                    writer.segments.to_string().into(),
                    writer.records.to_string().into(),
                    sequences.into(),
                    Cell(words, paint),
                ]
            })
            .collect();
        output.table(&["WRITER", "SEGMENTS", "RECORDS", "SEQUENCES", "STATE"], &rows);
    }
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
