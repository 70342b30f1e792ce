//! What we say of ourselves: the answers to `initialize` and `server/discover`.

use std::sync::Arc;

use serde_json::{Value, json};
use toolgate_protocol::capability::{self, Listed, Merged};
use toolgate_protocol::{Era, Version};

use crate::catalog::Listing;

/// How long the instructions of all servers together may be, in bytes.
const MAX_INSTRUCTIONS: usize = 16 * 1024;

/// What is said of all servers together.
#[derive(Debug)]
pub struct Greeting {
    capabilities: Merged,
    instructions: Option<String>,
}

impl Greeting {
    /// The sum of what the servers say of themselves.
    pub fn of(listings: &[Arc<Listing>]) -> Greeting {
        let greetings = || listings.iter().filter_map(|listing| Some((listing, listing.greeting()?)));
        let declared: Vec<_> = greetings().map(|(_, greeting)| &greeting.capabilities).collect();
        // Lists may grow at any time, so these are there from the start.
        let list = Listed { list_changed: true, subscribe: false };
        let capabilities = Merged {
            tools: Some(list),
            prompts: Some(list),
            resources: Some(Listed { subscribe: true, ..list }),
            completions: true,
            logging: true,
            ..capability::merge(&declared)
        };
        let mut instructions = String::new();
        for (listing, greeting) in greetings() {
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
        Greeting { capabilities, instructions: (!instructions.is_empty()).then_some(instructions) }
    }

    /// The result of `initialize` in this revision.
    pub fn initialize(&self, version: Version) -> Value {
        let mut capabilities = self.capabilities.clone();
        // What came with later revisions means nothing to an older client, and breaks strict ones.
        capabilities.tasks.take_if(|_| version < Version::V2025_11_25);
        capabilities.completions = version >= Version::V2025_03_26;
        let mut result = json!({
            "protocolVersion": version.date(),
            "capabilities": declaration(&capabilities, Era::Legacy),
            "serverInfo": server_info(),
        });
        self.instruct(&mut result);
        result
    }

    /// The result of `server/discover`.
    pub fn discover(&self) -> Value {
        let mut result = json!({
            "resultType": "complete",
            "supportedVersions": [Version::NEWEST.date()],
            "capabilities": declaration(&self.capabilities, Era::Modern),
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

/// Our name and version, as JSON.
pub const IDENTITY: &str = concat!(r#"{"name":"toolgate","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// The same as a value.
pub fn server_info() -> Value {
    serde_json::from_str(IDENTITY).unwrap_or_default()
}

fn declaration(capabilities: &Merged, era: Era) -> Value {
    serde_json::from_str(&capabilities.json(era)).unwrap_or_else(|_| json!({}))
}
