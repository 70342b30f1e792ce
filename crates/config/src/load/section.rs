//! The two sections whose entries are servers, and what follows from other values in their records.

use crate::model::python_of;
use crate::node::{Node, Value};
use crate::reference::folder_of;

/// A section of records, one for each server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// MCP servers.
    Servers,
    /// Python functions, which become servers.
    Handlers,
}

impl Section {
    /// Both, in the order in which they are read.
    pub(crate) const ALL: [Section; 2] = [Section::Servers, Section::Handlers];

    /// Its key in the file.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Section::Servers => "servers",
            Section::Handlers => "handlers",
        }
    }

    /// The definition of its records in the schema.
    pub(crate) fn definition(self) -> &'static str {
        match self {
            Section::Servers => "ServerConfig",
            Section::Handlers => "HandlersConfig",
        }
    }

    /// What the shortest record says.
    pub(crate) fn least(self) -> &'static str {
        match self {
            Section::Servers => "give a command or a url",
            Section::Handlers => "list the modules",
        }
    }

    /// Fills in what follows from other values: the transport of a server, the Python and the folder of handlers, the
    /// call timeout of the process.
    pub(crate) fn derive_values(self, record: &mut Node, call_timeout: Option<&Node>) {
        if !matches!(record.value, Value::Mapping(_)) {
            return;
        }
        match self {
            Section::Servers => derive_transport(record),
            Section::Handlers => derive_python(record),
        }
        if let (None, Some(timeout)) = (record.get("call_timeout"), call_timeout) {
            record.set("call_timeout", timeout.clone());
        }
    }
}

fn derive_transport(record: &mut Node) {
    if record.get("transport").is_none_or(|transport| transport.value == Value::Null) {
        let derived = [("command", "stdio"), ("url", "http")]
            .into_iter()
            .find_map(|(key, transport)| record.get(key).map(|node| Node::text(&node.origin, transport)));
        if let Some(transport) = derived {
            record.set("transport", transport);
        }
    }
}

/// The paths are made whole later, like all others.
fn derive_python(record: &mut Node) {
    let origin = record.origin.clone();
    let said = ["python", "venv", "uv"].into_iter().any(|key| record.get(key).is_some());
    if !said && python_of(&folder_of(&origin).join(".venv")).exists() {
        record.set("venv", Node::text(&origin, ".venv"));
    }
    if record.get("cwd").is_none() {
        record.set("cwd", Node::text(&origin, "."));
    }
}
