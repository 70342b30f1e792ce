//! `toolgate init`: a first configuration file, from a few answers, or from flags where nobody can answer.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolgate_config::well_known::{self, CATALOGUE, WellKnown};
use toolgate_config::write::edit;

use crate::commands::servers::replace;
use crate::commands::start::TransportArg;
use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  toolgate init                                          asks, at a terminal
  toolgate init --with time --with fetch --transport http --port 8080
  toolgate init --with 'filesystem ~/projects' --output my.yaml";

/// What the file shall hold.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct InitArgs {
    /// A well-known server, with the arguments it needs. May be given several times
    #[arg(long, value_name = "NAME [ARGUMENTS]")]
    with: Vec<String>,
    /// How clients connect
    #[arg(long, value_enum)]
    transport: Option<TransportArg>,
    /// Port to listen on, for http
    #[arg(long)]
    port: Option<u16>,
    /// The file
    #[arg(long, short, value_name = "FILE", default_value = "toolgate.yaml")]
    output: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
    /// Ask nothing, even at a terminal
    #[arg(long)]
    no_input: bool,
}

/// What was chosen.
struct Choice {
    transport: TransportArg,
    port: Option<u16>,
    servers: Vec<(&'static WellKnown, Vec<String>)>,
}

/// Writes the file.
pub(crate) fn run(args: &InitArgs, output: &Output) -> Result<ExitCode, Failure> {
    if args.output.exists() && !args.force {
        return Err(Failure::failed(format!("{} exists already", args.output.display()))
            .help("--force replaces it; `toolgate servers add` adds to it"));
    }
    let given = !args.with.is_empty() || args.transport.is_some() || args.port.is_some();
    let ask = !given && !args.no_input && !output.json && std::io::stdin().is_terminal();
    let choice = if ask { asked()? } else { from_flags(args)? };
    let text = text(&choice)?;
    replace(&args.output, &text)?;
    let needed: Vec<_> = choice.servers.iter().flat_map(|(known, _)| known.variables).collect();
    if output.json {
        let servers: Vec<&str> = choice.servers.iter().map(|(known, _)| known.name).collect();
        let variables: Vec<&str> = needed.iter().map(|needed| needed.name).collect();
        output.value(&json!({"file": args.output, "servers": servers, "variables": variables}));
        return Ok(ExitCode::SUCCESS);
    }
    output.line(&format!("written to {}", args.output.display()));
    for needed in needed {
        output.line(&format!("set {} before you start; you get it from {}", needed.name, needed.from));
    }
    let here = args.output == Path::new("toolgate.yaml");
    let config = if here { String::new() } else { format!(" --config {}", args.output.display()) };
    output.line(&format!("now: toolgate start{config}"));
    Ok(ExitCode::SUCCESS)
}

fn from_flags(args: &InitArgs) -> Result<Choice, Failure> {
    let servers = args.with.iter().map(|line| server(line)).collect::<Result<_, _>>()?;
    let transport = args.transport.unwrap_or(match args.port {
        Some(_) => TransportArg::Http,
        None => TransportArg::Stdio,
    });
    Ok(Choice { transport, port: args.port, servers })
}

/// A well-known server and its arguments, from a line such as `filesystem ~/projects`.
fn server(line: &str) -> Result<(&'static WellKnown, Vec<String>), Failure> {
    let mut words = toolgate_config::environment::split_words(line).into_iter();
    let name = words.next().unwrap_or_default();
    let known = well_known::find(&name).ok_or_else(|| {
        let meant =
            well_known::nearest(&name).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        Failure::not_found(format!("no well-known server is called '{name}'"))
            .help(format!("{meant}`toolgate servers list --known` lists them"))
    })?;
    let arguments: Vec<String> = words.collect();
    if !known.needs_arguments.is_empty() && arguments.is_empty() {
        return Err(Failure::invalid(format!("{name} needs arguments: {}", known.needs_arguments)));
    }
    Ok((known, arguments))
}

fn asked() -> Result<Choice, Failure> {
    let names: Vec<&str> = CATALOGUE.iter().map(|known| known.name).collect();
    say(&format!("Well-known servers: {}", names.join(", ")))?;
    let mut servers = Vec::new();
    for name in
        question("Which do you want? (names, or nothing)")?.split([' ', ',']).filter(|name| !name.is_empty())
    {
        let needs = well_known::find(name).map(|known| known.needs_arguments).unwrap_or_default();
        let arguments = match needs {
            "" => String::new(),
            needs => question(&format!("{name} needs {needs}:"))?,
        };
        servers.push(server(&format!("{name} {arguments}"))?);
    }
    let many = question("Shall many clients connect over HTTP? (y, or nothing for one over stdio)")?;
    if !many.eq_ignore_ascii_case("y") && !many.eq_ignore_ascii_case("yes") {
        return Ok(Choice { transport: TransportArg::Stdio, port: None, servers });
    }
    let port = match question("On which port? (8080)")?.as_str() {
        "" => 8080,
        port => port.parse().map_err(|_| Failure::invalid(format!("'{port}' is no port")))?,
    };
    Ok(Choice { transport: TransportArg::Http, port: Some(port), servers })
}

fn question(text: &str) -> Result<String, Failure> {
    say(text)?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(|error| Failure::failed(error.to_string()))?;
    Ok(answer.trim().to_owned())
}

fn say(text: &str) -> Result<(), Failure> {
    writeln!(std::io::stderr(), "{text}").map_err(|error| Failure::failed(error.to_string()))
}

fn text(choice: &Choice) -> Result<String, Failure> {
    let mut text = String::from(
        "# Every key is described in docs/reference/config.md; `toolgate config validate` checks this file.\n\nlisten:\n",
    );
    text.push_str(&format!("  transport: {}\n", choice.transport.word()));
    if let Some(port) = choice.port {
        text.push_str(&format!("  port: {port}\n"));
    }
    text.push_str("\n# More with `toolgate servers add`.\nservers: {}\n");
    for (known, arguments) in &choice.servers {
        text = edit::add_server(&text, known.name, &known.record(arguments))
            .map_err(|error| Failure::invalid(error.to_string()))?;
    }
    Ok(text)
}
