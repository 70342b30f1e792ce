//! `toolgate`, the one binary.

mod cli;
mod commands;
mod logs;
mod startup;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = cli::Cli::parse_from(cli::seed_spellings(std::env::args_os()));
    commands::run(cli)
}
