//! `toolgate servers add`: a server more in the configuration file, everything else in it as it was.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use toolgate_config::well_known::{self, WellKnown};
use toolgate_config::write::edit;
use toolgate_config::{Node, Origin};

use super::file;
use crate::cli::{self, ConfigArgs};
use crate::failure::Failure;
use crate::output::Output;
use crate::startup::files;

const AFTER_HELP: &str = "\
Examples:
  toolgate servers add github                          a well-known server; `servers list --known` lists them
  toolgate servers add filesystem ~/projects           with the arguments it needs
  toolgate servers add notes --known memory            under another name
  toolgate servers add docs --url https://example.com/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'
  toolgate servers add mine --env-from MY_TOKEN -- node server.js --verbose

Comments and everything else in the file stay as they are. A running gateway notices the change by itself.";

/// The server.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct AddArgs {
    /// Its name: letters, digits, '-', '_' and '.'
    name: String,
    /// Arguments of a well-known server
    arguments: Vec<String>,
    /// The well-known server that is meant, where it is not called by its name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "command"])]
    known: Option<String>,
    /// Its address
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
    /// How it is reached at its address
    #[arg(long, value_enum, requires = "url")]
    transport: Option<NetworkTransport>,
    /// A header sent with every request; write secrets as ${VARIABLE}
    #[arg(long, value_name = "NAME=VALUE", requires = "url", value_parser = assignment)]
    header: Vec<(String, String)>,
    /// A variable for its program; write secrets as ${VARIABLE}
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url", value_parser = assignment)]
    env: Vec<(String, String)>,
    /// A variable that is handed on from the gateway's environment
    #[arg(long, value_name = "NAME", conflicts_with = "url")]
    env_from: Vec<String>,
    /// The command line that starts it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    config: ConfigArgs,
}

/// How a server on the network is reached.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum NetworkTransport {
    /// Streamable HTTP
    Http,
    /// HTTP with server-sent events, of 2024
    Sse,
}

/// Adds a server.
pub(super) fn run(args: &AddArgs, output: &Output) -> Result<ExitCode, Failure> {
    let (record, known) = record(args)?;
    let (path, text) = file::editable(&args.config)?;
    let changed = edit::add_server(&text, &args.name, &Node::from_json(&record, &Origin::Default))
        .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
    file::replace_if_sound(&path, &changed)?;
    let variables = known.map(|known| known.variables).unwrap_or_default();
    let missing: Vec<_> = variables
        .iter()
        .filter(|needed| files::variable(needed.name).is_none_or(|value| value.is_empty()))
        .collect();
    if output.json {
        let missing: Vec<&str> = missing.iter().map(|needed| needed.name).collect();
        output.value(
            &json!({"file": path, "added": args.name, "server": record, "missing_variables": missing}),
        );
        return Ok(ExitCode::SUCCESS);
    }
    output.line(&format!("added {} to {}", args.name, path.display()));
    for needed in missing {
        output.note(&format!(
            "note: set {} before the gateway starts; you get it from {}",
            needed.name, needed.from
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The native record, and the well-known server it is made from.
fn record(args: &AddArgs) -> Result<(Value, Option<&'static WellKnown>), Failure> {
    let mut record = Map::new();
    let known = if let Some(url) = &args.url {
        record.insert("url".into(), url.as_str().into());
        if let Some(NetworkTransport::Sse) = args.transport {
            record.insert("transport".into(), "sse".into());
        }
        insert_pairs(&mut record, "headers", &args.header);
        None
    } else if let Some((program, arguments)) = args.command.split_first() {
        record.insert("command".into(), program.as_str().into());
        if !arguments.is_empty() {
            record.insert("args".into(), json!(arguments));
        }
        None
    } else {
        let known = find_known(args)?;
        if let Value::Object(members) = known.record(&args.arguments).to_json() {
            record = members;
        }
        Some(known)
    };
    if known.is_none() && !args.arguments.is_empty() {
        return Err(Failure::invalid("arguments of a command stand behind '--', after the command"));
    }
    insert_pairs(&mut record, "env", &args.env);
    if !args.env_from.is_empty() {
        record.insert("env_from".into(), json!(args.env_from));
    }
    Ok((Value::Object(record), known))
}

fn find_known(args: &AddArgs) -> Result<&'static WellKnown, Failure> {
    let name = args.known.as_deref().unwrap_or(&args.name);
    let Some(known) = well_known::find(name) else {
        let meant =
            well_known::nearest(name).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        return Err(Failure::not_found(format!("no well-known server is called {name}")).help(format!(
            "{meant}give its --url, or the command that starts it after '--'; `toolgate servers list --known` lists the known ones"
        )));
    };
    if !known.needs_arguments.is_empty() && args.arguments.is_empty() {
        let needs = known.needs_arguments;
        return Err(Failure::invalid(format!("{name} needs arguments: {needs}"))
            .help(format!("toolgate servers add {} {needs}", args.name)));
    }
    Ok(known)
}

fn insert_pairs(record: &mut Map<String, Value>, key: &str, pairs: &[(String, String)]) {
    if !pairs.is_empty() {
        let members = pairs.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
        record.insert(key.into(), Value::Object(members.collect()));
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    cli::pair(text, "NAME=VALUE")
}
