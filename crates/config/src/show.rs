//! The effective configuration value by value, with where each came from: what `config show` prints.

use serde::Serialize;
use serde_json::Value as Json;

use crate::load::Loaded;
use crate::node::Origin;
use crate::problem::join;
use crate::secret::MASK;

/// One effective value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// Its path, such as `listen.port`.
    pub path: String,
    /// Its value; secrets are masked.
    pub value: Json,
    /// Where it came from.
    pub origin: Origin,
}

/// Every effective value in the order of the model. Lists of plain values are one setting.
pub fn settings(loaded: &Loaded) -> Vec<Setting> {
    let mut settings = Vec::new();
    if let Ok(json) = serde_json::to_value(&loaded.config) {
        walk(&json, "", loaded, &mut settings);
    }
    settings
}

fn walk(value: &Json, path: &str, loaded: &Loaded, settings: &mut Vec<Setting>) {
    match value {
        Json::Object(members) if !members.is_empty() => {
            for (key, member) in members {
                walk(member, &join(path, key), loaded, settings);
            }
        }
        Json::Array(items) if items.iter().any(Json::is_object) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &format!("{path}[{index}]"), loaded, settings);
            }
        }
        _ => {
            let origin = loaded.origins.get(path).cloned().unwrap_or(Origin::Default);
            // Secrets are masked already; of other values with references, what was written tells more.
            let value = match loaded.written.get(path) {
                Some(text) if value.as_str() != Some(MASK) => Json::from(text.as_str()),
                _ => value.clone(),
            };
            settings.push(Setting { path: path.to_owned(), value, origin });
        }
    }
}
