//! `toolgate resources read`

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::{Value, json};
use toolgate_client::content;

use crate::connection::{ConnectionArgs, Purpose, with_connection};
use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  toolgate resources read skill://trading/entry-monitor
  toolgate resources read image://logo --output logo.png";

/// Which resource.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ReadArgs {
    /// Its URI, as `resources list` shows it
    uri: String,
    /// Write it into this file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Prints a resource, or writes it into a file.
pub(super) fn run(args: &ReadArgs, output: &Output) -> Result<ExitCode, Failure> {
    let params = json!({"uri": args.uri});
    let result = with_connection(&args.connection, Purpose::Use, async |connection| {
        connection.request("resources/read", params).await
    })?;
    let contents = result.get("contents").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(path) = &args.output {
        let bytes = bytes_of(&contents)?;
        std::fs::write(path, bytes)
            .map_err(|error| Failure::failed(format!("{} cannot be written: {error}", path.display())))?;
    } else if output.json {
        output.value(&result);
    } else if std::io::stdout().is_terminal() {
        contents.iter().for_each(|content| output.line(&content::resource(content)));
    } else {
        output.raw(&bytes_of(&contents)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn bytes_of(contents: &[Value]) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    for content in contents {
        let member = |key: &str| content.get(key).and_then(Value::as_str);
        match (member("text"), member("blob")) {
            (Some(text), _) => bytes.extend_from_slice(text.as_bytes()),
            (None, Some(blob)) => {
                let blob = STANDARD.decode(blob);
                bytes.extend(
                    blob.map_err(|error| Failure::failed(format!("the resource is not base64: {error}")))?,
                );
            }
            (None, None) => {}
        }
    }
    Ok(bytes)
}
