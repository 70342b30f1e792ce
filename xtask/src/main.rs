//! The project's tasks, as one program without dependencies, so that it builds in a moment.
//!
//! `cargo xtask test` is the whole test command; the others are single steps of it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what a task says is its result")]

mod fuzz;
mod licences;
mod step;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND

  test [STEP…]     all steps of the test command, or those whose name contains one of the given words
  tidy             names, lengths, links and the code map
  licences         licences and sources of what comes from outside, as deny.toml says
  fuzz [SECONDS]   every fuzz target for a few seconds (5 unless told otherwise)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = repository_root();
    match arguments.split_first() {
        Some((command, chosen)) if command == "test" => test::run(&root, chosen),
        Some((command, [])) if command == "tidy" => tidy::run(&root),
        Some((command, [])) if command == "licences" => licences::run(&root),
        Some((command, rest)) if command == "fuzz" => fuzz::run(&root, rest.first().map(String::as_str)),
        _ => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The folder that holds this package's folder.
fn repository_root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}
