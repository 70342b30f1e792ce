//! `toolgate`, the one binary.

mod alerts;
mod allocator;
mod ask;
mod cli;
mod clock;
mod commands;
mod connection;
mod control;
mod failure;
mod logs;
mod operators;
mod output;
mod reload;
mod startup;

use std::process::ExitCode;

use clap::Parser;

use crate::output::Output;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> ExitCode {
    let cli = cli::Cli::parse_from(cli::seed_spellings(std::env::args_os()));
    let output = Output::here(cli.json);
    match commands::run(cli.command, &output) {
        Ok(code) => code,
        Err(failure) => {
            output.failure(&failure);
            failure.exit_code()
        }
    }
}
