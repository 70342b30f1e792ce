//! `toolgate tools describe`

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::connection::{ConnectionArgs, Purpose, with_connection};
use crate::failure::Failure;
use crate::output::{Cell, Output, Paint};

/// Which tool.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  toolgate tools describe time__get_current_time")]
pub(crate) struct DescribeArgs {
    /// Its name, as `tools list` shows it
    name: String,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Shows a tool.
pub(super) fn run(args: &DescribeArgs, output: &Output) -> Result<ExitCode, Failure> {
    let tools = with_connection(&args.connection, Purpose::Look, async |connection| {
        connection.list("tools/list", "tools").await
    })?;
    let is_wanted = |tool: &&Value| tool.get("name").and_then(Value::as_str) == Some(&args.name);
    let Some(tool) = tools.iter().find(is_wanted) else {
        return Err(Failure::not_found(format!("there is no tool '{}'", args.name))
            .help("`toolgate tools list` lists the tools"));
    };
    if output.json {
        output.value(tool);
        return Ok(ExitCode::SUCCESS);
    }
    output.line(&output.painted(&args.name, Paint::Strong));
    if let Some(description) = tool.get("description").and_then(Value::as_str) {
        output.line(description);
    }
    let rows = parameters(tool);
    if !rows.is_empty() {
        output.line("");
        output.table(&["ARGUMENT", "TYPE", "NEEDED", "DESCRIPTION"], &rows);
    }
    Ok(ExitCode::SUCCESS)
}

fn parameters(tool: &Value) -> Vec<Vec<Cell>> {
    let schema = tool.get("inputSchema").unwrap_or(&Value::Null);
    let needed: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties
        .map(|(name, property)| {
            let text = |key: &str| property.get(key).and_then(Value::as_str).unwrap_or_default();
            let needed = if needed.contains(&name.as_str()) { "yes" } else { "no" };
            vec![name.as_str().into(), text("type").into(), needed.into(), text("description").into()]
        })
        .collect()
}
