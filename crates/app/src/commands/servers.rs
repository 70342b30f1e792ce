//! `toolgate servers …`

mod add;
mod file;
mod list;
mod remove;
mod test;

use std::process::ExitCode;

use clap::Subcommand;
use toolgate_config::{ServerConfig, Transport};

use crate::failure::Failure;
use crate::output::Output;

pub(super) use file::replace;

/// Look at the servers behind the gateway and change which there are.
#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// List the servers and how they are
    List(list::ListArgs),
    /// Add a server to the configuration file: a well-known one, a command or a URL
    Add(add::AddArgs),
    /// Remove a server from the configuration file
    Remove(remove::RemoveArgs),
    /// Connect to servers and say what they offer
    Test(test::TestArgs),
}

/// Runs a command of the group.
pub(crate) fn run(command: &ServersCommand, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        ServersCommand::List(args) => list::run(args, output),
        ServersCommand::Add(args) => add::run(args, output),
        ServersCommand::Remove(args) => remove::run(args, output),
        ServersCommand::Test(args) => test::run(args, output),
    }
}

/// The word for how a server is reached.
fn transport_word(server: &ServerConfig) -> &'static str {
    match server.transport {
        Transport::Stdio => "stdio",
        Transport::Http => "http",
        Transport::Sse => "sse",
    }
}

/// Its address, or the command line that starts it, as they were written: what references led to may be a secret.
fn target(server: &ServerConfig) -> String {
    let shown = server.masked();
    match (shown.url, shown.command) {
        (Some(url), _) => url,
        (None, Some(command)) => std::iter::once(command).chain(shown.args).collect::<Vec<_>>().join(" "),
        (None, None) => String::new(),
    }
}
