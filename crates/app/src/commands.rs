//! The commands, one file each; a folder for a command that has commands of its own.

mod arguments;
mod completions;
mod config;
mod doctor;
mod import;
mod init;
mod man;
mod prompts;
mod reload;
mod resources;
mod servers;
mod start;
mod tools;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve MCP clients
    Start(start::StartArgs),
    /// Check and look at the configuration
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Look at the servers behind the gateway and change which there are
    #[command(subcommand)]
    Servers(servers::ServersCommand),
    /// Look at tools and call them
    #[command(subcommand)]
    Tools(tools::ToolsCommand),
    /// Look at resources and read them
    #[command(subcommand)]
    Resources(resources::ResourcesCommand),
    /// Look at prompts and get them
    #[command(subcommand)]
    Prompts(prompts::PromptsCommand),
    /// Take over the servers of another program
    Import(import::ImportArgs),
    /// Make the running gateway read its configuration again
    Reload(reload::ReloadArgs),
    /// Find out what is wrong on this machine, and what to do about it
    Doctor(doctor::DoctorArgs),
    /// Write a first configuration file
    Init(init::InitArgs),
    /// Print the completions of a shell
    Completions(completions::CompletionsArgs),
    /// Write the manual pages into a folder
    Man(man::ManArgs),
}

/// Runs a command.
pub(crate) fn run(command: Command, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        Command::Start(args) => Ok(start::run(&args)),
        Command::Config(command) => config::run(&command, output),
        Command::Servers(command) => servers::run(&command, output),
        Command::Tools(command) => tools::run(&command, output),
        Command::Resources(command) => resources::run(&command, output),
        Command::Prompts(command) => prompts::run(&command, output),
        Command::Import(args) => import::run(&args, output),
        Command::Reload(args) => reload::run(&args, output),
        Command::Doctor(args) => doctor::run(&args, output),
        Command::Init(args) => init::run(&args, output),
        Command::Completions(args) => completions::run(&args, output),
        Command::Man(args) => man::run(&args, output),
    }
}
