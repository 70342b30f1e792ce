//! What is generated from the types: the JSON Schema and the reference pages.

use serde_json::Value as Json;

use crate::model::Config;

/// The JSON Schema of the native file.
pub fn json_schema() -> Json {
    schemars::schema_for!(Config).to_value()
}
