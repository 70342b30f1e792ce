//! `mcpServers`: Claude Desktop, Claude Code, Cursor, Windsurf, Cline, Gemini and ExcelManus; `context_servers` of
//! Zed is the same thing under another name.

use std::path::Path;

use super::{Converted, Format, entry};
use crate::node::{Entry, Node, Value};
use crate::problem::Problem;

/// Reads the servers; whatever else the file holds belongs to the other program.
pub(super) fn convert(path: &Path, mut document: Node) -> Converted {
    let mut converted = Converted::new(&document, Format::McpServers);
    for key in ["mcpServers", "context_servers"] {
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
