//! The way a command reaches a gateway: the one that runs, over its socket, or else one of its own in this process.
//!
//! A command that names or finds a configuration wants that one: a running gateway is asked only if it was started from
//! the same files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use toolgate_config::{Loaded, StartMode};
use toolgate_gateway::Gateway;
use toolgate_gateway::downstream::health;

use crate::ask::{self, ErrorAnswer};
use crate::cli::ConfigArgs;
use crate::control::{self, Client, ClientError};
use crate::failure::{Failure, FailureKind};
use crate::startup::{self, files};
use crate::{logs, output::Output};

/// How long servers of our own get to end.
const PATIENCE: Duration = Duration::from_secs(2);
/// More pages than this are a server that never ends its list.
const MOST_PAGES: usize = 1_000;
/// The code of what a policy, a budget or a limit refused.
const DENIED: i64 = -32003;
/// The codes of what is not there.
const NOT_THERE: [i64; 3] = [-32001, -32002, INVALID_PARAMS];
/// The code of arguments that do not fit, and since 2026-07-28 also of what is not there.
const INVALID_PARAMS: i64 = -32602;

/// Which gateway is asked.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConnectionArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Connect to the servers from here, even if a gateway runs
    #[arg(long)]
    pub(crate) direct: bool,
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To see what there is: leaves nothing behind.
    Look,
    /// To use it: recorded in the ledger like any other use.
    Use,
}

/// A gateway that can be asked.
#[derive(Debug)]
pub(crate) enum Connection {
    Running(Client),
    Own(Arc<Gateway>),
}

/// Runs `work` with a connection, which is closed in any case.
pub(crate) fn with_connection<T>(
    args: &ConnectionArgs,
    purpose: Purpose,
    work: impl AsyncFnOnce(&mut Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let loaded = files::load(&args.config, args.config.overrides());
    logs::begin_quietly(args.config.log_level.as_deref(), &loaded.config.log);
    block_on(async {
        let mut connection = Connection::open(args, &loaded, purpose).await?;
        let done = work(&mut connection).await;
        connection.close().await;
        done
    })
}

/// Runs a future to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::failed(format!("the runtime could not be started: {error}")))?;
    let done = runtime.block_on(future);
    runtime.shutdown_timeout(Duration::from_millis(100));
    done
}

/// The gateway that runs with this configuration, and its status.
pub(crate) async fn running(args: &ConfigArgs, loaded: &Loaded) -> Option<(Client, Value)> {
    let state_dir = files::state_dir(&loaded.config)?;
    let (client, status) = Client::connect(&control::socket_path(&state_dir)).await?;
    is_meant(args, &status, &absolute(&files::paths(args))).then_some((client, status))
}

/// The servers that lack a value they need, and which: those of the running gateway, whose variables count, or else those
/// of a gateway that would be started here.
pub(crate) fn disabled(loaded: &Loaded, status: Option<&Value>) -> BTreeMap<String, String> {
    let told = status.and_then(|status| status.get("disabled")?.as_object());
    match told {
        Some(told) => told
            .iter()
            .map(|(name, reason)| (name.clone(), reason.as_str().unwrap_or_default().to_owned()))
            .collect(),
        None => loaded.disabled.clone(),
    }
}

/// Whether a running gateway is the one a command means. Projects may share a state folder, so it must have been started
/// from the files that are named, or that are found here. Where there are none, or where its folder is named, it is
/// the gateway and not the files that is meant.
fn is_meant(args: &ConfigArgs, status: &Value, sources: &[PathBuf]) -> bool {
    let by_folder = !args.is_named() && (args.state_dir.is_some() || sources.is_empty());
    by_folder || args.server.is_empty() && has_sources(status, sources)
}

/// Paths as they are told apart: absolute, as far as they exist.
pub(crate) fn absolute(paths: &[PathBuf]) -> Vec<PathBuf> {
    let absolute = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    paths.iter().map(absolute).collect()
}

fn has_sources(status: &Value, wanted: &[PathBuf]) -> bool {
    let sources = status.get("sources").and_then(Value::as_array).into_iter().flatten();
    sources.filter_map(Value::as_str).map(Path::new).eq(wanted.iter().map(PathBuf::as_path))
}

impl Connection {
    /// Connects as the flags want it.
    async fn open(args: &ConnectionArgs, loaded: &Loaded, purpose: Purpose) -> Result<Self, Failure> {
        if !args.direct
            && let Some((client, _)) = running(&args.config, loaded).await
        {
            // It runs with what it loaded last, whatever the files say by now.
            return Ok(Connection::Running(client));
        }
        files::require_sound(loaded)?;
        if loaded.config.servers.is_empty() {
            return Err(Failure::not_found("there is no server to ask").help(
                "name a configuration with --config, or write one with `toolgate init` or `toolgate import`",
            ));
        }
        Self::own(loaded, purpose)
    }

    /// A gateway in this process. It remembers nothing and starts every server at once, so what it lists is what the
    /// servers list now.
    pub(crate) fn own(loaded: &Loaded, purpose: Purpose) -> Result<Self, Failure> {
        let mut config = loaded.config.clone();
        config.servers.values_mut().for_each(|server| server.start = StartMode::Eager);
        match (purpose, files::state_dir(&config)) {
            (Purpose::Look, _) => config.ledger.enabled = false,
            (Purpose::Use, Some(folder)) if config.ledger.enabled && config.ledger.dir.is_none() => {
                files::make_state_dir(&folder).map_err(|error| {
                    Failure::failed(format!("{} cannot be made: {error}", folder.display()))
                })?;
                config.ledger.dir = Some(folder.join("ledger"));
            }
            (Purpose::Use, _) => {}
        }
        let running = startup::start(&config, None).map_err(|error| Failure::failed(error.to_string()))?;
        Ok(Connection::Own(running.gateway))
    }

    /// The result of an MCP request.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let result = match self {
            Connection::Running(client) => client.ask(method, params).await.map_err(client_failure)?,
            Connection::Own(gateway) => ask::ask(gateway, method, params).await.map_err(answer_failure)?,
        };
        if result.get("resultType").and_then(Value::as_str) == Some("input_required") {
            return Err(Failure::failed("the server wants to ask a person, which this command cannot do")
                .help("use a client that answers questions"));
        }
        Ok(result)
    }

    /// All of a list, page by page: the array `key` of each result of `method`.
    pub(crate) async fn list(&mut self, method: &str, key: &str) -> Result<Vec<Value>, Failure> {
        let mut all = Vec::new();
        let mut params = json!({});
        for _ in 0..MOST_PAGES {
            let mut page = self.request(method, params).await?;
            if let Some(Value::Array(items)) = page.get_mut(key).map(Value::take) {
                all.extend(items);
            }
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return Ok(all),
            }
        }
        Err(Failure::failed(format!("{method} has more than {MOST_PAGES} pages")))
    }

    /// How everything is.
    pub(crate) async fn status(&mut self) -> Result<Value, Failure> {
        match self {
            Connection::Running(client) => client.status().await.map_err(client_failure),
            Connection::Own(gateway) => {
                gateway.fleet.settle(gateway.settings.start_patience).await;
                Ok(health::report(gateway))
            }
        }
    }

    /// Says which servers are down, so that nobody wonders what is missing from a list.
    pub(crate) async fn note_missing(&mut self, output: &Output) -> Result<(), Failure> {
        let status = self.status().await?;
        for server in status.get("servers").and_then(Value::as_array).into_iter().flatten() {
            let text = |key| server.get(key).and_then(Value::as_str).unwrap_or_default();
            if text("state") == "down" {
                output.note(&format!("note: server '{}' is down: {}", text("name"), text("cause")));
            }
        }
        Ok(())
    }

    /// Ends servers of our own.
    pub(crate) async fn close(self) {
        if let Connection::Own(gateway) = self {
            gateway.stop(PATIENCE).await;
        }
    }
}

/// What an error of a running gateway means for a command.
pub(crate) fn client_failure(error: ClientError) -> Failure {
    match error {
        ClientError::Answer(answer) => answer_failure(answer),
        ClientError::Gone(_) => Failure::not_found(error.to_string()),
    }
}

fn answer_failure(answer: ErrorAnswer) -> Failure {
    let kind = match answer.code {
        DENIED => FailureKind::Refused,
        // Only of arguments it is said what is wrong with them.
        INVALID_PARAMS if answer.data.pointer("/details/problem").is_some() => FailureKind::Invalid,
        code if NOT_THERE.contains(&code) => FailureKind::NotFound,
        _ => FailureKind::Failed,
    };
    Failure::new(kind, answer.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_gateway_must_have_the_files_that_are_named() {
        let status = json!({"sources": ["/a/toolgate.yaml", "/b"]});
        let check = |wanted: &[&str], expected: bool| {
            let wanted: Vec<PathBuf> = wanted.iter().map(PathBuf::from).collect();
            assert_eq!(has_sources(&status, &wanted), expected, "{wanted:?}");
        };
        check(&["/a/toolgate.yaml", "/b"], true);
        check(&["/a/toolgate.yaml"], false);
        check(&["/b", "/a/toolgate.yaml"], false);
    }

    #[test]
    fn codes_become_kinds_of_failure() {
        let check = |code, data: Value, expected| {
            let answer = ErrorAnswer { code, message: String::new(), data };
            assert_eq!(answer_failure(answer).kind, expected, "{code}");
        };
        check(-32003, Value::Null, FailureKind::Refused);
        check(-32602, Value::Null, FailureKind::NotFound);
        check(-32602, json!({"uri": "note://none"}), FailureKind::NotFound);
        check(-32602, json!({"details": {"path": "/a", "problem": "no"}}), FailureKind::Invalid);
        check(-32005, Value::Null, FailureKind::Failed);
    }
}
