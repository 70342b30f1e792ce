//! The names of tools.

use crate::tool::MAX_NAME;

/// What a tool is named after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// The operation's id, or method and path where it has none.
    #[default]
    OperationId,
    /// Method and path: `get_orders_id`.
    MethodPath,
}

impl Naming {
    /// The name of a tool.
    pub(super) fn name(self, id: Option<&str>, method: &str, path: &str) -> String {
        let plain = match (self, id) {
            (Naming::OperationId, Some(id)) => id.to_owned(),
            _ => format!("{method}{path}"),
        };
        let mut name = String::new();
        for c in plain.chars() {
            let c = if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '_' };
            if c != '_' || !name.ends_with('_') {
                name.push(c);
            }
        }
        let name: String = name.trim_matches('_').chars().take(MAX_NAME).collect();
        if name.is_empty() { method.to_owned() } else { name }
    }
}
