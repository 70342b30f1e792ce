//! `toolgate ledger …`: the record of calls, read from its folder whether a gateway runs or not.

mod export;
mod query;
mod stats;
mod tail;
mod verify;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use toolgate_admin::questions::Moment;
use toolgate_admin::{Problem, ProblemKind};
use toolgate_ledger::journal::folder::{Folder, folders};
use toolgate_ledger::journal::settle::settle;
use toolgate_ledger::store::{KnownIds, Store, ship_folder};
use toolgate_ledger::{Calendar, Kind, Status};

use crate::cli::ConfigArgs;
use crate::failure::{Failure, FailureKind};
use crate::output::Output;
use crate::startup::files;

/// Look at the record of calls.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Show the last calls, and those to come with --follow
    Tail(tail::TailArgs),
    /// Find calls, newest first
    Query(query::QueryArgs),
    /// Add calls up by caller, tool, server, status, day or month
    Stats(stats::StatsArgs),
    /// Write whole records for other programs
    Export(export::ExportArgs),
    /// Prove that nothing was changed, removed or moved
    Verify(verify::VerifyArgs),
}

/// Which ledger.
#[derive(Debug, Clone, Args)]
struct LedgerArgs {
    /// Folder of the ledger. Without it, the one of the configuration
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Configuration that says where the ledger is. May be given several times
    #[arg(long, short, value_name = "FILE", help_heading = "Configuration")]
    config: Vec<PathBuf>,
    /// Folder for what the gateway remembers
    #[arg(long, value_name = "DIR", help_heading = "Configuration")]
    state_dir: Option<PathBuf>,
}

/// Which calls.
#[derive(Debug, Clone, Args)]
struct FilterArgs {
    /// Only calls of this caller
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
    /// Only calls to this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Only calls of this tool, resource or prompt, as clients name it
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    #[arg(long, help = format!("Only calls that ended so: {}", one_of(Status::ALL, Status::as_str)))]
    status: Option<Status>,
}

/// When the calls were made.
#[derive(Debug, Clone, Args)]
struct TimeArgs {
    #[arg(long, help = format!("Only this kind: {}", one_of(Kind::ALL, Kind::as_str)))]
    kind: Option<Kind>,
    /// Not before this moment: 2026-07-28T09:30:00Z, 2026-07-28, or 2h for two hours ago
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Moment>,
    /// Before this moment
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<Moment>,
}

/// Runs a command of the group.
pub(crate) fn run(command: &LedgerCommand, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        LedgerCommand::Tail(args) => tail::run(args, output),
        LedgerCommand::Query(args) => query::run(args, output),
        LedgerCommand::Stats(args) => stats::run(args, output),
        LedgerCommand::Export(args) => export::run(args, output),
        LedgerCommand::Verify(args) => verify::run(args, output),
    }
}

impl LedgerArgs {
    /// The folder, which must be there.
    fn root(&self) -> Result<PathBuf, Failure> {
        let root = match &self.dir {
            Some(dir) => Some(dir.clone()),
            None => {
                let args = ConfigArgs {
                    config: self.config.clone(),
                    state_dir: self.state_dir.clone(),
                    ..ConfigArgs::default()
                };
                let config = files::load_sound(&args)?.config;
                let state_dir = files::state_dir(&config);
                config.ledger.dir.or_else(|| Some(state_dir?.join("ledger")))
            }
        };
        let missing = |words: String| Failure::not_found(words).help("name its folder with --dir");
        let root = root.ok_or_else(|| missing("there is no ledger".into()))?;
        if root.is_dir() {
            Ok(root)
        } else {
            Err(missing(format!("there is no ledger in {}", root.display())))
        }
    }

    /// The index, with everything in it that writers left in the journal when they were killed.
    fn index(&self) -> Result<Store, Failure> {
        let root = self.root()?;
        let store = Store::open(&root).map_err(failed)?;
        catch_up(&root, &store)?;
        Ok(store)
    }
}

fn catch_up(root: &Path, store: &Store) -> Result<(), Failure> {
    settle(root).map_err(failed)?;
    let mut connection = store.connect().map_err(failed)?;
    for path in folders(root).map_err(failed)? {
        // One that a living writer holds is copied by that writer.
        let Some(held) = Folder::try_hold(path).map_err(failed)? else { continue };
        let mut known = KnownIds::default();
        ship_folder(store, &mut connection, held.path(), None, &Calendar::default(), &mut known)
            .map_err(failed)?;
    }
    Ok(())
}

/// Words to choose from, as a sentence names them.
fn one_of<T: Copy>(values: &[T], word: impl Fn(T) -> &'static str) -> String {
    let words: Vec<&str> = values.iter().map(|value| word(*value)).collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// A moment as people write it, or how long ago it was.
fn moment(text: &str) -> Result<Moment, String> {
    let Ok(ago) = toolgate_config::duration::parse(text) else { return text.parse() };
    let ago = SignedDuration::try_from(ago).map_err(|error| error.to_string())?;
    Timestamp::now().checked_sub(ago).map(Moment).map_err(|error| error.to_string())
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::failed(error.to_string())
}

fn failure(problem: Problem) -> Failure {
    let kind = match problem.kind {
        ProblemKind::Invalid => FailureKind::Invalid,
        ProblemKind::NotFound => FailureKind::NotFound,
        _ => FailureKind::Failed,
    };
    Failure::new(kind, problem.message)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn help_names_every_kind_and_status() {
        let mut command = Cli::command();
        let ledger = command.find_subcommand_mut("ledger").unwrap();
        for name in ["query", "export"] {
            let help = ledger.find_subcommand_mut(name).unwrap().render_long_help().to_string();
            let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
            let kinds = "tool_call, resource_read, prompt_get, completion, denial, chat or task_result";
            assert!(help.contains(&format!("Only this kind: {kinds}")), "{name}: {help}");
            for status in Status::ALL {
                assert!(help.contains(status.as_str()), "{name} lacks {status:?}");
            }
        }
    }

    #[test]
    fn moments_are_absolute_or_ago() {
        let check = |text: &str, expected: &str| {
            let expected: Timestamp = expected.parse().unwrap();
            assert_eq!(moment(text), Ok(Moment(expected)), "{text}");
        };
        check("2026-07-28", "2026-07-28T00:00:00Z");
        check("2026-07-28T09:30:00+02:00", "2026-07-28T07:30:00Z");
        let ago = moment("2h").unwrap().0;
        let elapsed = ago.duration_until(Timestamp::now());
        assert!((7200..7260).contains(&elapsed.as_secs()), "{elapsed}");
        assert!(moment("yesterday").is_err());
    }
}
