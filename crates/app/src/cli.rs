//! The command tree.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// One gate between AI agents and everything they may call.
#[derive(Debug, Parser)]
#[command(name = "toolgate", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve MCP clients
    Start(StartArgs),
}

/// How to serve.
#[derive(Debug, Default, Args)]
pub(crate) struct StartArgs {
    /// How clients connect: stdio serves the one that started us, http serves many
    #[arg(long, value_enum)]
    pub(crate) transport: Option<TransportArg>,
    /// Address to listen on
    #[arg(long)]
    pub(crate) host: Option<String>,
    /// Port to listen on; 0 takes a free one
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Configuration file or folder of server records, in any known format
    #[arg(long, short, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,
    /// A server: a URL, or the command line that starts it. May be given several times
    #[arg(long, value_name = "NAME=URL-OR-COMMAND", value_parser = server)]
    pub(crate) server: Vec<(String, String)>,
    /// How tools are named for clients
    #[arg(long, value_enum)]
    pub(crate) names: Option<NamesArg>,
    /// Folder of SKILL.md documents
    #[arg(long, value_name = "DIR")]
    pub(crate) skills_dir: Option<PathBuf>,
    /// Folder for what the gateway remembers
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Least severe level that is logged: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// Form of the log: json or text
    #[arg(long, value_name = "FORM")]
    pub(crate) log_format: Option<String>,
    /// Any other value of the configuration
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Refuse what is otherwise only warned of
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TransportArg {
    Stdio,
    Http,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum NamesArg {
    Prefixed,
    Plain,
    Mcp,
}

impl TransportArg {
    pub(crate) fn word(self) -> &'static str {
        match self {
            TransportArg::Stdio => "stdio",
            TransportArg::Http => "http",
        }
    }
}

impl NamesArg {
    pub(crate) fn word(self) -> &'static str {
        match self {
            NamesArg::Prefixed => "prefixed",
            NamesArg::Plain => "plain",
            NamesArg::Mcp => "mcp",
        }
    }
}

/// The seeds write `toolgate mcp-server start …`; the extra word says nothing.
pub(crate) fn seed_spellings(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<_> = arguments.collect();
    if arguments.get(1).is_some_and(|word| word == "mcp-server" || word == "mcp") {
        arguments.remove(1);
    }
    arguments
}

fn server(text: &str) -> Result<(String, String), String> {
    pair(text, "NAME=URL-OR-COMMAND")
}

fn setting(text: &str) -> Result<(String, String), String> {
    pair(text, "PATH=VALUE")
}

fn pair(text: &str, form: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("must have the form {form}")),
    }
}
