//! `toolgate prompts get`

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use toolgate_client::content;

use crate::commands::arguments::ArgumentArgs;
use crate::connection::{ConnectionArgs, Purpose, with_connection};
use crate::failure::Failure;
use crate::output::{Output, Paint};

/// Which prompt, with which arguments.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  toolgate prompts get review__code language=rust")]
pub(crate) struct GetArgs {
    /// Its name, as `prompts list` shows it
    name: String,
    #[command(flatten)]
    arguments: ArgumentArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Prints a prompt.
pub(super) fn run(args: &GetArgs, output: &Output) -> Result<ExitCode, Failure> {
    let params = json!({"name": args.name, "arguments": args.arguments.object()?});
    let result = with_connection(&args.connection, Purpose::Use, async |connection| {
        connection.request("prompts/get", params).await
    })?;
    if output.json {
        output.value(&result);
        return Ok(ExitCode::SUCCESS);
    }
    for message in result.get("messages").and_then(Value::as_array).into_iter().flatten() {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        let text = message.get("content").map(content::text).unwrap_or_default();
        output.line(&format!("{} {text}", output.painted(&format!("{role}:"), Paint::Strong)));
    }
    Ok(ExitCode::SUCCESS)
}
