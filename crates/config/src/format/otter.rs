//! otter: `[mcp]` and `[[mcp.servers]]` in TOML. Its own types also say `[[mcp_servers]]`, so both are read.

use std::path::Path;

use super::{Converted, Format, entry};
use crate::node::{Node, Value};
use crate::problem::Problem;

/// Reads the servers and the settings of `[mcp]`.
pub(super) fn convert(mut document: Node) -> Converted {
    let mut converted = Converted::new(&document, Format::Otter);
    let mut section = document.remove("mcp").unwrap_or_else(|| Node::empty_mapping(&document.origin));
    let lists = [section.remove("servers"), document.remove("mcp_servers")];
    for (theirs, ours) in
        [("auto_reload", "runtime.auto_reload"), ("health_check_interval", "runtime.health_check_interval")]
    {
        if let Some(node) = section.remove(theirs) {
            converted.tree.set_path(ours, node);
        }
    }
    let enabled = section.remove("enabled");
    let all_off = enabled.as_ref().and_then(Node::as_text) == Some("false");
    for entry in section.entries() {
        let known = ["enabled", "auto_reload", "health_check_interval", "servers"];
        converted.warn(crate::check::unknown_key(&entry.origin, "mcp", &entry.key, known.into_iter()));
    }
    for list in lists.into_iter().flatten() {
        let Value::Sequence(records) = list.value else { continue };
        for mut record in records {
            entry::adopt_texts(&mut record, Path::new(""));
            let origin = record.origin.clone();
            let Some(name) = record.get("name").and_then(Node::as_text).map(str::to_owned) else {
                converted.warn(Problem::at(&origin, "mcp.servers", "skipped a server without a `name`"));
                continue;
            };
            let mut warnings = Vec::new();
            let mut native = entry::convert(record, &entry::server_path(&name), &mut warnings);
            converted.warnings.append(&mut warnings);
            if all_off {
                native.set("enabled", Node::new(origin.clone(), Value::Boolean(false)));
            }
            converted.add_server(&name, &origin, native);
        }
    }
    converted
}
