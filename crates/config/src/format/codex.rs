//! Codex: `[mcp_servers.NAME]` in `config.toml`, with tokens by variable and consent per tool.

use std::path::Path;

use super::{Converted, Format, entry};
use crate::node::{Entry, Node, Value};

/// Reads the servers; whatever else the file holds belongs to Codex.
pub(super) fn convert(mut document: Node) -> Converted {
    let mut converted = Converted::new(&document, Format::Codex);
    let Some(servers) = document.remove("mcp_servers") else { return converted };
    let Value::Mapping(entries) = servers.value else { return converted };
    for Entry { key: name, origin, node: mut record } in entries {
        entry::adopt_texts(&mut record, Path::new(""));
        let extras = Extras::take(&mut record);
        let mut warnings = Vec::new();
        let mut native = entry::convert(record, &entry::server_path(&name), &mut warnings);
        converted.warnings.append(&mut warnings);
        extras.add_to(&mut native);
        converted.add_server(&name, &origin, native);
    }
    converted
}

/// What only Codex has.
struct Extras {
    token_variable: Option<Node>,
    header_variables: Option<Node>,
    approval: Option<Node>,
    tools: Option<Node>,
}

impl Extras {
    fn take(record: &mut Node) -> Self {
        Self {
            token_variable: record.remove("bearer_token_env_var"),
            header_variables: record.remove("env_http_headers"),
            approval: record.remove("default_tools_approval_mode"),
            tools: record.remove("tools"),
        }
    }

    fn add_to(self, native: &mut Node) {
        if let Some(variable) = self.token_variable {
            let auth_ref = format!("env:{}", variable.as_text().unwrap_or_default());
            native.set("auth_ref", Node::text(&variable.origin, auth_ref));
        }
        for entry in self.header_variables.iter().flat_map(Node::entries) {
            let value = format!("${{{}}}", entry.node.as_text().unwrap_or_default());
            if native.get("headers").is_none() {
                native.set("headers", Node::empty_mapping(&entry.origin));
            }
            if let Some(headers) = native.get_mut("headers") {
                headers.set(&entry.key, Node::text(&entry.node.origin, value));
            }
        }
        if let Some(mode) = self.approval {
            native.set("approval", approval_mode(mode));
        }
        for tool in self.tools.iter().flat_map(Node::entries) {
            let Some(mode) = tool.node.get("approval_mode") else { continue };
            if native.get("tool_approvals").is_none() {
                native.set("tool_approvals", Node::empty_mapping(&tool.origin));
            }
            if let Some(approvals) = native.get_mut("tool_approvals") {
                approvals.set(&tool.key, approval_mode(mode.clone()));
            }
        }
    }
}

/// Codex asks with `prompt`, never with `approve`, and decides by itself with `auto`.
fn approval_mode(node: Node) -> Node {
    let mode = match node.as_text() {
        Some("prompt") => "always",
        Some("approve") => "never",
        Some("auto") => "policy",
        _ => return node,
    };
    Node::text(&node.origin, mode)
}
