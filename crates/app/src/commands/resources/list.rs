//! `toolgate resources list`

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::connection::{ConnectionArgs, Purpose, with_connection};
use crate::failure::Failure;
use crate::output::{Cell, Output};

/// Which gateway is asked.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  toolgate resources list --json | jq -r '.resources[].uri'")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Lists resources and templates.
pub(super) fn run(args: &ListArgs, output: &Output) -> Result<ExitCode, Failure> {
    let (resources, templates) = with_connection(&args.connection, Purpose::Look, async |connection| {
        let resources = connection.list("resources/list", "resources").await?;
        let templates = connection.list("resources/templates/list", "resourceTemplates").await?;
        connection.note_missing(output).await?;
        Ok((resources, templates))
    })?;
    if output.json {
        output.value(&json!({"resources": resources, "resource_templates": templates}));
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<Cell>> = resources
        .iter()
        .map(|resource| row(resource, "uri"))
        .chain(templates.iter().map(|template| row(template, "uriTemplate")))
        .collect();
    output.table(&["URI", "NAME", "TYPE", "DESCRIPTION"], &rows);
    Ok(ExitCode::SUCCESS)
}

fn row(item: &Value, address: &str) -> Vec<Cell> {
    let text = |key: &str| Cell::from(item.get(key).and_then(Value::as_str).unwrap_or_default());
    vec![text(address), text("name"), text("mimeType"), text("description")]
}
