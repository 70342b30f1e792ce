//! `toolgate tools call`

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use toolgate_client::content;

use crate::commands::arguments::ArgumentArgs;
use crate::connection::{ConnectionArgs, Purpose, with_connection};
use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  toolgate tools call time__convert_time source_timezone=UTC time=12:00 target_timezone=Asia/Tokyo
  toolgate tools call math__add a:=1 b:=2                     numbers and other JSON with ':='
  toolgate tools call search --arguments '{\"query\": \"mcp\"}'
  echo '{\"query\": \"mcp\"}' | toolgate tools call search --arguments -

Exits with 1 if the tool says that it failed, with 3 if there is no such tool, with 4 if the call was refused.";

/// Which tool, with which arguments.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CallArgs {
    /// Its name, as `tools list` shows it
    name: String,
    #[command(flatten)]
    arguments: ArgumentArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Calls a tool.
pub(super) fn run(args: &CallArgs, output: &Output) -> Result<ExitCode, Failure> {
    let params = json!({"name": args.name, "arguments": args.arguments.object()?});
    let result = with_connection(&args.connection, Purpose::Use, async |connection| {
        connection.request("tools/call", params).await
    })?;
    let failed = result.get("isError").and_then(Value::as_bool) == Some(true);
    if output.json {
        output.value(&result);
    } else {
        let text = text_of(&result);
        if failed {
            return Err(Failure::failed(format!("the tool failed: {text}")));
        }
        output.line(&text);
    }
    Ok(ExitCode::from(u8::from(failed)))
}

/// The content as text; the structured result where there is no content.
fn text_of(result: &Value) -> String {
    match (result.get("content"), result.get("structuredContent")) {
        (Some(Value::Array(blocks)), Some(structured)) if blocks.is_empty() => format!("{structured:#}"),
        (Some(blocks), _) => content::text(blocks),
        (None, Some(structured)) => format!("{structured:#}"),
        (None, None) => String::new(),
    }
}
