//! The command line as a whole: what all commands have in common.

#[cfg(test)]
mod reference;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};
use toolgate_config::{Overrides, ServerOverride};

use crate::commands::Command;

const AFTER_HELP: &str = "\
Examples:
  toolgate start                                   serve the servers of toolgate.yaml or mcp.json to one client
  toolgate start --transport http --port 8080      serve many clients over HTTP
  toolgate servers add github                      put a well-known server behind the gateway
  toolgate tools call time__get_current_time timezone=Europe/Berlin
  toolgate doctor                                  find out what is wrong on this machine

Exit codes:
  0  done
  1  it was tried and went wrong
  2  wrong usage, or a configuration that is not valid
  3  what was named does not exist, or cannot be reached
  4  refused by a policy, a budget or a limit";

/// One gate between AI agents and everything they may call.
#[derive(Debug, Parser)]
#[command(name = "toolgate", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Cli {
    /// Print JSON, with field names that stay
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which configuration is meant.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct ConfigArgs {
    /// Configuration file or folder of server records, in any known format. May be given several times
    #[arg(long, short, visible_alias = "mcp-dir", value_name = "FILE")]
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
    /// Any other value of the configuration
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Refuse what is otherwise only warned of
    #[arg(long)]
    pub(crate) strict: bool,
}

/// How tools are named for clients.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum NamesArg {
    /// server__tool
    Prefixed,
    /// The servers' own names
    Plain,
    /// mcp_server_tool
    Mcp,
}

impl NamesArg {
    fn word(self) -> &'static str {
        match self {
            NamesArg::Prefixed => "prefixed",
            NamesArg::Plain => "plain",
            NamesArg::Mcp => "mcp",
        }
    }
}

impl ConfigArgs {
    /// Whether the configuration was named here, rather than looked for.
    pub(crate) fn is_named(&self) -> bool {
        !self.config.is_empty() || !self.server.is_empty()
    }

    /// The values given here, which win over files and variables.
    pub(crate) fn overrides(&self) -> Overrides {
        let servers = self
            .server
            .iter()
            .map(|(name, target)| ServerOverride { name: name.clone(), target: target.clone() });
        Overrides {
            names: self.names.map(|names| names.word().to_owned()),
            skills_dir: self.skills_dir.clone(),
            state_dir: self.state_dir.clone(),
            log_level: self.log_level.clone(),
            servers: servers.collect(),
            set: self.set.clone(),
            ..Overrides::default()
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

/// `KEY=VALUE`, both sides present.
pub(crate) fn pair(text: &str, form: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("must have the form {form}")),
    }
}

fn server(text: &str) -> Result<(String, String), String> {
    pair(text, "NAME=URL-OR-COMMAND")
}

fn setting(text: &str) -> Result<(String, String), String> {
    pair(text, "PATH=VALUE")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_tree_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn spellings_of_the_seeds_are_understood() {
        let check = |line: &str| {
            let words = seed_spellings(line.split(' ').map(OsString::from));
            assert!(Cli::try_parse_from(words).is_ok(), "{line}");
        };
        check(
            "toolgate mcp-server start --transport http --port 8080 --config mcp-server.yaml --skills-dir skills",
        );
        check("toolgate mcp-server config validate --config mcp-server.yaml");
        check("toolgate mcp-server tools list --config mcp-server.yaml");
        check("toolgate mcp-server resources list");
        check("toolgate start --mcp-dir servers.d");
        check("toolgate mcp reload");
        check("toolgate start");
    }
}
