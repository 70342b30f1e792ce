//! What is to be asked of the gateway, and how it is reached.

use std::collections::BTreeMap;

use serde::Deserialize;

type Arguments = serde_json::Map<String, serde_json::Value>;

#[derive(Deserialize)]
pub struct Plan {
    pub era: Era,
    pub target: Target,
    pub tools: Vec<Named>,
    pub resources: Vec<Resource>,
    pub prompts: Vec<Named>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    Legacy,
    Modern,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum Target {
    Http { url: String },
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, String> },
}

/// A tool or a prompt, and a text that its answer has in it.
#[derive(Deserialize)]
pub struct Named {
    pub name: String,
    pub arguments: Arguments,
    pub expect: String,
}

/// A resource, and a text that it has in it.
#[derive(Deserialize)]
pub struct Resource {
    pub uri: String,
    pub expect: String,
}
