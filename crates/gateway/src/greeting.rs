//! What we say of ourselves: the answers to `initialize` and `server/discover`.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolgate_protocol::Version;

use crate::catalog::Listing;

/// How long the instructions of all servers together may be, in bytes.
const MAX_INSTRUCTIONS: usize = 16 * 1024;

/// What is said of all servers together.
#[derive(Debug)]
pub struct Greeting {
    capabilities: Value,
    instructions: Option<String>,
}

impl Greeting {
    /// The sum of what the servers say of themselves.
    pub fn of(listings: &[Arc<Listing>]) -> Greeting {
        let mut capabilities = Map::new();
        // Lists may grow at any time, so these are there from the start.
        capabilities.insert("tools".into(), json!({"listChanged": true}));
        capabilities.insert("prompts".into(), json!({"listChanged": true}));
        capabilities.insert("resources".into(), json!({"listChanged": true, "subscribe": true}));
        capabilities.insert("logging".into(), json!({}));
        capabilities.insert("completions".into(), json!({}));
        let mut instructions = String::new();
        for listing in listings {
            let Some(greeting) = listing.greeting() else { continue };
            if let Ok(Value::Object(declared)) = serde_json::from_slice(&greeting.capabilities) {
                for key in ["tasks", "extensions", "experimental"] {
                    if let Some(value) = declared.get(key) {
                        unite(capabilities.entry(key).or_insert_with(|| json!({})), value);
                    }
                }
            }
            let said: Option<String> =
                greeting.instructions.as_ref().and_then(|said| serde_json::from_slice(said).ok());
            if let Some(said) = said {
                instructions.push_str(&format!("## {}\n{said}\n\n", listing.server()));
            }
        }
        let mut end = instructions.len().min(MAX_INSTRUCTIONS);
        while !instructions.is_char_boundary(end) {
            end -= 1;
        }
        instructions.truncate(end);
        let instructions = instructions.trim_end().to_owned();
        Greeting {
            capabilities: Value::Object(capabilities),
            instructions: (!instructions.is_empty()).then_some(instructions),
        }
    }

    /// The result of `initialize` in this revision.
    pub fn initialize(&self, version: Version) -> Value {
        let mut capabilities = self.capabilities.clone();
        if let Value::Object(members) = &mut capabilities {
            // What came with later revisions means nothing to an older client, and breaks strict ones.
            members.shift_remove("extensions");
            if version < Version::V2025_11_25 {
                members.shift_remove("tasks");
            }
            if version < Version::V2025_03_26 {
                members.shift_remove("completions");
            }
        }
        let mut result = json!({
            "protocolVersion": version.date(),
            "capabilities": capabilities,
            "serverInfo": server_info(),
        });
        self.instruct(&mut result);
        result
    }

    /// The result of `server/discover`.
    pub fn discover(&self) -> Value {
        let mut capabilities = self.capabilities.clone();
        if let Value::Object(members) = &mut capabilities {
            members.shift_remove("tasks");
        }
        let mut result = json!({
            "resultType": "complete",
            "supportedVersions": [Version::NEWEST.date()],
            "capabilities": capabilities,
            "_meta": {"io.modelcontextprotocol/serverInfo": server_info()},
            "ttlMs": 0,
            "cacheScope": "private",
        });
        self.instruct(&mut result);
        result
    }

    fn instruct(&self, result: &mut Value) {
        if let Some(instructions) = &self.instructions {
            result["instructions"] = Value::from(instructions.as_str());
        }
    }
}

/// Our name and version.
pub fn server_info() -> Value {
    json!({"name": "toolgate", "version": env!("CARGO_PKG_VERSION")})
}

/// Puts the members of one object into another; what is there already is united in turn.
fn unite(into: &mut Value, from: &Value) {
    let (Value::Object(into), Value::Object(from)) = (into, from) else { return };
    for (key, value) in from {
        match into.get_mut(key) {
            Some(there) => unite(there, value),
            None => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}
