//! `toolgate prompts list`

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::connection::{ConnectionArgs, Purpose, with_connection};
use crate::failure::Failure;
use crate::output::{Cell, Output};

/// Which gateway is asked.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Lists prompts.
pub(super) fn run(args: &ListArgs, output: &Output) -> Result<ExitCode, Failure> {
    let prompts = with_connection(&args.connection, Purpose::Look, async |connection| {
        let prompts = connection.list("prompts/list", "prompts").await?;
        connection.note_missing(output).await?;
        Ok(prompts)
    })?;
    if output.json {
        output.value(&json!({"prompts": prompts}));
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<Cell>> = prompts.iter().map(row).collect();
    output.table(&["NAME", "ARGUMENTS", "DESCRIPTION"], &rows);
    Ok(ExitCode::SUCCESS)
}

fn row(prompt: &Value) -> Vec<Cell> {
    let text = |key: &str| prompt.get(key).and_then(Value::as_str).unwrap_or_default();
    let arguments = prompt.get("arguments").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<String> = arguments
        .filter_map(|argument| {
            let name = argument.get("name")?.as_str()?;
            let needed = argument.get("required").and_then(Value::as_bool) == Some(true);
            Some(if needed { name.to_owned() } else { format!("[{name}]") })
        })
        .collect();
    vec![text("name").into(), names.join(" ").into(), text("description").into()]
}
