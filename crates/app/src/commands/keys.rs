//! `toolgate keys …`: API keys of callers. A running gateway notices within seconds.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Value, json};
use toolgate_identity::{KeyFile, KeyFileError, KeyRecord, NewKey};

use crate::cli::ConfigArgs;
use crate::clock::seconds_since_1970;
use crate::failure::{Failure, FailureKind};
use crate::output::{Cell, Output, Paint};
use crate::startup::{callers, files};

/// Make, list and revoke API keys of callers.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key and show it, once
    Create(CreateArgs),
    /// List the keys, the oldest first
    List(ListArgs),
    /// Make a key useless, for good
    Revoke(RevokeArgs),
}

/// What the key is for.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  toolgate keys create anna --group developers --expires 90d")]
pub(crate) struct CreateArgs {
    /// The caller it stands for, as policy and ledger shall name it
    caller: String,
    /// A group of the caller. May be given several times
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,
    /// After how long it ends by itself, such as 90d
    #[arg(long, value_name = "TIME", value_parser = toolgate_config::duration::parse)]
    expires: Option<Duration>,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Whose keys.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

/// Which key.
#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// Its id, as `keys list` shows it
    id: String,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Runs a command of the group.
pub(crate) fn run(command: &KeysCommand, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        KeysCommand::Create(args) => create(args, output),
        KeysCommand::List(args) => list(args, output),
        KeysCommand::Revoke(args) => revoke(args, output),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn create(args: &CreateArgs, output: &Output) -> Result<(), Failure> {
    let file = file(&args.config)?;
    if let Some(folder) = file.path().parent() {
        files::make_state_dir(folder)
            .map_err(|error| Failure::failed(format!("{} cannot be made: {error}", folder.display())))?;
    }
    let now = seconds_since_1970();
    let expires = args.expires.map(|after| now.saturating_add(after.as_secs()));
    let new = NewKey { caller: args.caller.clone(), groups: args.group.clone(), expires };
    let (key, record) = file.create(new, now).map_err(failure)?;
    if output.json {
        let mut told = shown(&record, now);
        if let Some(members) = told.as_object_mut() {
            members.insert("key".into(), key.reveal().into());
        }
        output.value(&told);
        return Ok(());
    }
    output.line(key.reveal());
    output.note(&format!("note: this is the key {} of {}; it is shown only now", record.id, record.caller));
    output.note("help: clients send it as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'");
    Ok(())
}

fn list(args: &ListArgs, output: &Output) -> Result<(), Failure> {
    let keys = file(&args.config)?.list().map_err(failure)?;
    let now = seconds_since_1970();
    if output.json {
        output.value(&json!({"keys": keys.iter().map(|key| shown(key, now)).collect::<Vec<_>>()}));
        return Ok(());
    }
    let rows: Vec<Vec<Cell>> = keys
        .iter()
        .map(|key| {
            let state = state(key, now);
            let paint = if state == "valid" { Paint::Good } else { Paint::Bad };
            vec![
                key.id.as_str().into(),
                key.caller.as_str().into(),
                key.groups.join(", ").into(),
                Cell(state.to_owned(), paint),
                day(Some(key.created)).into(),
                day(key.expires).into(),
                format!("…{}", key.last_four).into(),
            ]
        })
        .collect();
    output.table(&["ID", "CALLER", "GROUPS", "STATE", "MADE", "ENDS", "KEY"], &rows);
    Ok(())
}

fn revoke(args: &RevokeArgs, output: &Output) -> Result<(), Failure> {
    let file = file(&args.config)?;
    // Revoking makes the file where there is none, so its absence is told first.
    if !file.path().exists() {
        return Err(failure(KeyFileError::NoSuchKey(args.id.clone())));
    }
    let record = file.revoke(&args.id, seconds_since_1970()).map_err(failure)?;
    if output.json {
        output.value(&shown(&record, seconds_since_1970()));
    } else {
        output.line(&format!("the key {} of {} is revoked", record.id, record.caller));
    }
    Ok(())
}

fn file(args: &ConfigArgs) -> Result<KeyFile, Failure> {
    let loaded = files::load_sound(args)?;
    let state_dir = files::state_dir(&loaded.config);
    callers::keys_file(&loaded.config, state_dir.as_deref()).ok_or_else(|| {
        Failure::invalid("there is no place for keys").help("give callers.keys_file or --state-dir")
    })
}

/// A key as programs see it: everything but its hash.
fn shown(key: &KeyRecord, now: u64) -> Value {
    json!({
        "id": key.id,
        "caller": key.caller,
        "groups": key.groups,
        "state": state(key, now),
        "last_four": key.last_four,
        "created": key.created,
        "expires": key.expires,
        "revoked": key.revoked,
    })
}

fn state(key: &KeyRecord, now: u64) -> &'static str {
    match key.revoked {
        _ if key.is_valid_at(now) => "valid",
        Some(_) => "revoked",
        None => "expired",
    }
}

fn day(seconds: Option<u64>) -> String {
    let moment = seconds.and_then(|seconds| Timestamp::from_second(i64::try_from(seconds).ok()?).ok());
    moment.map_or_else(|| "-".to_owned(), |moment| moment.strftime("%Y-%m-%d").to_string())
}

fn failure(error: KeyFileError) -> Failure {
    let kind = match error {
        KeyFileError::NoSuchKey(_) => FailureKind::NotFound,
        KeyFileError::BadCaller(_) => FailureKind::Invalid,
        _ => FailureKind::Failed,
    };
    Failure::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_without_its_hash() {
        let key = |expires, revoked| KeyRecord {
            id: "a1".into(),
            caller: "anna".into(),
            groups: vec![],
            sha256: "0f".repeat(32),
            last_four: "wxyz".into(),
            created: 1,
            expires,
            revoked,
        };
        let check = |expires, revoked, expected: &str| {
            let shown = shown(&key(expires, revoked), 100);
            assert_eq!(shown["state"], expected);
            assert!(!shown.to_string().contains("0f0f"), "{shown}");
        };
        check(None, None, "valid");
        check(Some(101), None, "valid");
        check(Some(100), None, "expired");
        check(Some(101), Some(50), "revoked");
    }
}
