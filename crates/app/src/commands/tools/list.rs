//! `toolgate tools list`

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::connection::{ConnectionArgs, Purpose, with_connection};
use crate::failure::Failure;
use crate::output::{Cell, Output};

const AFTER_HELP: &str = "\
Examples:
  toolgate tools list
  toolgate tools list file             only tools with 'file' in their name or description
  toolgate tools list --json | jq -r '.tools[].name'";

/// Which tools.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ListArgs {
    /// Only tools that have this in their name or description
    #[arg(value_name = "WORD")]
    word: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Lists tools.
pub(super) fn run(args: &ListArgs, output: &Output) -> Result<ExitCode, Failure> {
    let mut tools = with_connection(&args.connection, Purpose::Look, async |connection| {
        let tools = connection.list("tools/list", "tools").await?;
        connection.note_missing(output).await?;
        Ok(tools)
    })?;
    if let Some(word) = &args.word {
        let word = word.to_lowercase();
        let has = |tool: &Value, key: &str| {
            tool.get(key).and_then(Value::as_str).is_some_and(|text| text.to_lowercase().contains(&word))
        };
        tools.retain(|tool| has(tool, "name") || has(tool, "description"));
    }
    if output.json {
        output.value(&json!({"tools": tools}));
        return Ok(ExitCode::SUCCESS);
    }
    let text =
        |tool: &Value, key: &str| Cell::from(tool.get(key).and_then(Value::as_str).unwrap_or_default());
    let rows: Vec<Vec<Cell>> =
        tools.iter().map(|tool| vec![text(tool, "name"), text(tool, "description")]).collect();
    output.table(&["NAME", "DESCRIPTION"], &rows);
    Ok(ExitCode::SUCCESS)
}
