//! A tool as a model sees it, and the table that leads from its name back to its server.
//!
//! `mcp_{server}_{tool}` reads well but cannot be taken apart again: `a_b` with `c` and `a` with `b_c` give one name. So
//! the way back is a table, and of two tools with one name the second gets a short mark that stays the same over runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::offer::Offer;

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// `mcp_{server}_{tool}`, with `-` in the server's name, or in the namespace it has instead, as `_`.
    pub name: String,
    /// The server that has it.
    pub server: Arc<str>,
    /// What the server calls it.
    pub native: String,
    /// What it does, after `[MCP:server]`.
    pub description: String,
    /// The JSON Schema of its arguments, as the server wrote it.
    pub input_schema: Value,
    /// How long a call may take, where it is not the server's usual time.
    pub timeout: Option<Duration>,
}

/// Why a tool that a server lists cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableTool {
    #[error("it has no name")]
    NoName,
    #[error("'{0}' has an input schema that is no object")]
    Schema(String),
}

impl Definition {
    /// A tool as a server lists it and its record offers it.
    pub fn of(server: &str, offer: &Offer, listed: &Value) -> Result<Definition, UnusableTool> {
        let text = |key: &str| listed.get(key).and_then(Value::as_str);
        let native = text("name").filter(|name| !name.is_empty()).ok_or(UnusableTool::NoName)?;
        let input_schema = listed.get("inputSchema").filter(|schema| schema.is_object());
        let input_schema = input_schema.ok_or_else(|| UnusableTool::Schema(native.to_owned()))?;
        Ok(Definition {
            name: exposed_name(offer.prefix(server), native),
            server: server.into(),
            native: native.to_owned(),
            description: format!("[MCP:{server}] {}", text("description").unwrap_or_default())
                .trim_end()
                .to_owned(),
            input_schema: input_schema.clone(),
            timeout: offer.timeout(native),
        })
    }
}

/// The name under which a model knows a tool.
pub(super) fn exposed_name(server: &str, tool: &str) -> String {
    format!("mcp_{}_{tool}", server.replace('-', "_"))
}

/// All tools by their names. What is not offered is left out; what cannot be used, or is called like a tool of the agent,
/// with a warning.
pub(super) fn merge<'a>(
    listed: impl Iterator<Item = (&'a str, &'a Offer, &'a [Value])>,
    reserved: &BTreeSet<String>,
) -> BTreeMap<String, Definition> {
    let mut definitions = BTreeMap::new();
    for (server, offer, tools) in listed {
        for tool in tools {
            let mut definition = match Definition::of(server, offer, tool) {
                Ok(definition) => definition,
                Err(error) => {
                    tracing::warn!(server, %error, "a tool is left out");
                    continue;
                }
            };
            if !offer.has(&definition.native) {
                continue;
            }
            if reserved.contains(&definition.name) {
                tracing::warn!(
                    server,
                    tool = definition.name,
                    "a tool is left out: the agent has one of that name"
                );
                continue;
            }
            if definitions.contains_key(&definition.name) {
                definition.name = format!("{}_{:04x}", definition.name, mark(server, &definition.native));
                tracing::warn!(
                    server,
                    tool = definition.name,
                    "two tools have one name; the second got a mark"
                );
            }
            definitions.entry(definition.name.clone()).or_insert(definition);
        }
    }
    definitions
}

/// A number that stays the same for a tool over runs and machines (FNV-1a, folded).
fn mark(server: &str, tool: &str) -> u16 {
    let hash = [server, "\0", tool]
        .iter()
        .flat_map(|text| text.bytes())
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash >> 16) as u16 ^ hash as u16
}
