//! `mcpServers`: Claude Desktop, Claude Code, Cursor, Windsurf, Cline, Gemini and ExcelManus; `context_servers` of
//! Zed is the same thing under another name.

use std::path::Path;

use super::{Converted, Format, entry};
use crate::node::{Entry, Node, Value};
use crate::problem::{Problem, nearest};

/// Where the servers are.
const SECTIONS: [&str; 2] = ["mcpServers", "context_servers"];

/// Reads the servers; whatever else the file holds belongs to the other program.
pub(super) fn convert(path: &Path, mut document: Node) -> Converted {
    let mut converted = Converted::new(&document, Format::McpServers);
    if SECTIONS.iter().all(|section| document.get(section).is_none()) {
        let keys = document.entries().iter().map(|entry| entry.key.as_str());
        let meant = nearest("mcpServers", keys).map(|key| format!("did you mean it with `{key}`?"));
        converted.warn(
            Problem::at(&document.origin, "", "there is no `mcpServers` in this file")
                .help(meant.unwrap_or_default()),
        );
    }
    for key in SECTIONS {
        let Some(servers) = document.remove(key) else { continue };
        let origin = servers.origin.clone();
        match servers.value {
            Value::Mapping(entries) => add_all(&mut converted, entries, entry::workspace_of(path)),
            Value::Null => {}
            _ => converted.problems.push(
                Problem::at(&origin, key, "expected a mapping of names to servers")
                    .help("write {\"name\": {\"command\": …}}"),
            ),
        }
    }
    converted
}

/// Converts a mapping of names to records.
pub(super) fn add_all(converted: &mut Converted, entries: Vec<Entry>, workspace: &Path) {
    for Entry { key: name, origin, node: mut record } in entries {
        entry::adopt_texts(&mut record, workspace);
        let mut warnings = Vec::new();
        let native = entry::convert(record, &entry::server_path(&name), &mut warnings);
        converted.warnings.append(&mut warnings);
        converted.add_server(&name, &origin, native);
    }
}
