//! `mcpServers`: Claude Desktop, Claude Code, Cursor, Windsurf, Cline, Gemini and ExcelManus; `context_servers` of
//! Zed is the same thing under another name.

use std::path::{Path, PathBuf};

use super::{Converted, Format, entry};
use crate::node::{Entry, Node, Value};
use crate::problem::{Problem, nearest};
use crate::reference;

/// Where Claude Code keeps the servers of single projects, by the folder of each.
const PROJECTS: &str = "projects";
/// Where the servers are.
const SECTIONS: [&str; 2] = ["mcpServers", "context_servers"];

/// Reads the servers; whatever else the file holds belongs to the other program.
pub(super) fn convert(path: &Path, mut document: Node) -> Converted {
    let mut converted = Converted::new(&document, Format::McpServers);
    let of_project = std::env::current_dir().ok().and_then(|folder| of_project(&mut document, &folder));
    if of_project.is_none() && SECTIONS.iter().all(|section| document.get(section).is_none()) {
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
    // As in Claude Code, those of the project count more than those of the user.
    if let Some((folder, entries)) = of_project {
        add_all(&mut converted, entries, &folder);
    }
    converted
}

/// The servers of the project that `folder` belongs to: its own, or those of the nearest folder above that has any.
fn of_project(document: &mut Node, folder: &Path) -> Option<(PathBuf, Vec<Entry>)> {
    let projects = document.get_mut(PROJECTS)?;
    folder.ancestors().find_map(|folder| {
        let project = projects.get_mut(folder.to_str()?)?;
        match project.remove("mcpServers")?.value {
            Value::Mapping(entries) if !entries.is_empty() => Some((folder.to_path_buf(), entries)),
            _ => None,
        }
    })
}

/// Converts a mapping of names to records.
pub(super) fn add_all(converted: &mut Converted, entries: Vec<Entry>, workspace: &Path) {
    let workspace = &reference::absolute(workspace);
    for Entry { key: name, origin, node: mut record } in entries {
        entry::adopt_texts(&mut record, workspace);
        let mut warnings = Vec::new();
        let native = entry::convert(record, &entry::server_path(&name), &mut warnings);
        converted.warnings.append(&mut warnings);
        converted.add_server(&name, &origin, native);
    }
}
