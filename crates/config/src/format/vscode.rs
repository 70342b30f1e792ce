//! VS Code: `servers` with a `type`, `inputs` that the editor asks the person for, and editor variables.
//!
//! Nobody can be asked here, so `${input:id}` becomes the variable `TOOLGATE_INPUT_ID`, with the input's default if it
//! has one. Without either, the server is disabled and says which variable is missing.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Converted, Format, entry, mcp_servers};
use crate::node::{Node, Value};
use crate::problem::Problem;

/// Reads `.vscode/mcp.json`, or the `mcp` section of the editor's settings.
pub(super) fn convert(path: &Path, mut document: Node) -> Converted {
    let mut section = document.remove("mcp").unwrap_or(document);
    let mut converted = Converted::new(&section, Format::VsCode);
    let inputs = inputs(&section);
    let Some(mut servers) = section.remove("servers") else { return converted };
    replace_inputs(&mut servers, &inputs);
    let origin = servers.origin.clone();
    match servers.value {
        Value::Mapping(entries) => {
            mcp_servers::add_all(&mut converted, entries, entry::workspace_of(path));
        }
        Value::Null => {}
        _ => {
            converted.problems.push(Problem::at(&origin, "servers", "expected a mapping of names to servers"))
        }
    }
    converted
}

/// The inputs' references by id, as we write them.
fn inputs(section: &Node) -> BTreeMap<String, String> {
    let list = section.get("inputs").map(Node::items).unwrap_or_default();
    let reference = |input: &Node| {
        let id = input.get("id")?.as_text()?;
        let default = input.get("default").and_then(Node::as_text).filter(|text| !text.contains('}'));
        Some((id.to_owned(), variable_reference(id, default)))
    };
    list.iter().filter_map(reference).collect()
}

fn variable_reference(id: &str, default: Option<&str>) -> String {
    let name: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    match default {
        Some(default) => format!("${{TOOLGATE_INPUT_{name}:-{default}}}"),
        None => format!("${{TOOLGATE_INPUT_{name}}}"),
    }
}

fn replace_inputs(node: &mut Node, inputs: &BTreeMap<String, String>) {
    match &mut node.value {
        Value::Text(text) => {
            while let Some((before, rest)) = text.split_once("${input:") {
                let Some((id, after)) = rest.split_once('}') else { break };
                let reference = inputs.get(id).cloned().unwrap_or_else(|| variable_reference(id, None));
                *text = format!("{before}{reference}{after}");
            }
        }
        Value::Sequence(items) => items.iter_mut().for_each(|item| replace_inputs(item, inputs)),
        Value::Mapping(entries) => {
            entries.iter_mut().for_each(|entry| replace_inputs(&mut entry.node, inputs))
        }
        _ => {}
    }
}
