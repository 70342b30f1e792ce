//! The reference page of the command line, made from the command tree, so that it is never out of date.

use std::fmt::Write;
use std::path::Path;

use clap::{Command, CommandFactory};

use super::Cli;

fn page() -> String {
    let mut command = Cli::command().term_width(100).disable_help_subcommand(true);
    command.build();
    let mut page = String::from(
        "# Command line reference\n\nMade from the command tree; do not edit (@generated). The same is said by \
         `toolgate help COMMAND`.\n",
    );
    write_command(&mut page, &mut command, "toolgate");
    page
}

fn write_command(page: &mut String, command: &mut Command, name: &str) {
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    for subcommand in command.get_subcommands_mut().filter(|subcommand| subcommand.get_name() != "help") {
        let name = format!("{name} {}", subcommand.get_name());
        write_command(page, subcommand, &name);
    }
}

/// The file must hold the page; `UPDATE=1` writes it.
#[test]
fn the_reference_page_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let expected = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/reference/cli.md is out of date; run the tests once with UPDATE=1");
}
