//! An agent in sixty lines: it gives the tools of all configured servers to a model and runs what the model asks for.
//!
//! The model here is a person who types `TOOL {"argument": …}`; put your own in its place.
//!
//! ```text
//! cargo run -p toolgate-client --features manager --example agent -- mcp.json
//! ```

use std::io::{BufRead, Write};
use std::path::Path;

use serde_json::{Value, json};
use toolgate_client::{Manager, ManagerSettings, ToolRegistry};

/// What a model decides.
enum Decision {
    Call { tool: String, arguments: Value },
    Done,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let argument = std::env::args().nth(1);
    // By argument, or by the variables and places where such files are.
    let settings = ManagerSettings::found(argument.as_deref().map(Path::new), Path::new("."));
    let manager = Manager::connect(settings).await;
    for server in manager.health().await {
        let cause = server.cause.unwrap_or_default();
        say(&format!("{}: {} {cause}, {} tools", server.name, server.state, server.tools))?;
    }
    loop {
        // Asked anew each time, so that tools that came or went are seen.
        let registry = manager.registry();
        match decide(&registry)? {
            Decision::Done => break,
            Decision::Call { tool, arguments } => match registry.call(&tool, &arguments).await {
                Ok(text) => say(&text)?,
                // A model learns from an error too.
                Err(error) => say(&format!("error: {error}"))?,
            },
        }
    }
    manager.shutdown().await;
    Ok(())
}

/// Shows the model what there is and hears what it wants.
fn decide(registry: &ToolRegistry) -> std::io::Result<Decision> {
    for tool in registry.definitions() {
        say(&format!("  {}: {}", tool.name, tool.description))?;
    }
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let (tool, arguments) = line.trim().split_once(' ').unwrap_or((line.trim(), "{}"));
    let arguments = serde_json::from_str(arguments).unwrap_or(json!({}));
    Ok(if tool.is_empty() { Decision::Done } else { Decision::Call { tool: tool.to_owned(), arguments } })
}

fn say(text: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{text}")
}
