//! The commands, one file each; a folder for a command that has commands of its own.

mod approvals;
mod arguments;
mod completions;
mod config;
mod doctor;
mod explain;
mod import;
mod init;
mod keys;
mod ledger;
mod man;
mod prompts;
mod quotas;
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
    /// Make, list and revoke API keys of callers
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Look at the record of calls
    #[command(subcommand)]
    Ledger(ledger::LedgerCommand),
    /// Decide about calls that wait for an operator
    #[command(subcommand)]
    Approvals(approvals::ApprovalsCommand),
    /// Say why a call of a client would or would not happen
    Explain(explain::ExplainArgs),
    /// Show what is left of a client's budgets and limits
    Quotas(quotas::QuotasArgs),
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
        Command::Keys(command) => keys::run(&command, output),
        Command::Ledger(command) => ledger::run(&command, output),
        Command::Approvals(command) => approvals::run(&command, output),
        Command::Explain(args) => explain::run(&args, output),
        Command::Quotas(args) => quotas::run(&args, output),
        Command::Import(args) => import::run(&args, output),
        Command::Reload(args) => reload::run(&args, output),
        Command::Doctor(args) => doctor::run(&args, output),
        Command::Init(args) => init::run(&args, output),
        Command::Completions(args) => completions::run(&args, output),
        Command::Man(args) => man::run(&args, output),
    }
}
