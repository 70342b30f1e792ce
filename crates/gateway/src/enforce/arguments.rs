//! Do the arguments fit the tool? Schemas are compiled once for each tool of a catalogue, never fetched from elsewhere.

mod simple;

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::Value;
use toolgate_governance::{ArgumentCheck, ArgumentProblem, unambiguous};

use simple::Simple;

/// The largest schema that is compiled; arguments of larger ones are left to the server.
const MAX_SCHEMA: usize = 256 * 1024;

/// The check of one tool.
#[derive(Debug)]
pub struct ToolCheck {
    schema: bytes::Bytes,
    compiled: OnceLock<Option<Compiled>>,
}

#[derive(Debug)]
struct Compiled {
    /// The schema once more, where it is so simple that most arguments need no validator.
    simple: Option<Simple>,
    validator: Validator,
    required: Vec<String>,
}

impl ToolCheck {
    /// The check of a tool with this input schema. Compiled when first needed.
    pub fn new(schema: bytes::Bytes) -> ToolCheck {
        ToolCheck { schema, compiled: OnceLock::new() }
    }

    /// Whether it tells anything: a schema that cannot be used does not.
    pub fn is_of_use(&self) -> bool {
        self.compiled().is_some()
    }

    fn compiled(&self) -> Option<&Compiled> {
        self.compiled.get_or_init(|| self.compile()).as_ref()
    }

    fn compile(&self) -> Option<Compiled> {
        if self.schema.len() > MAX_SCHEMA {
            let bytes = self.schema.len();
            tracing::warn!(
                bytes,
                "a tool's schema is too large to be used; its server checks the arguments alone"
            );
            return None;
        }
        let schema: Value = serde_json::from_slice(&self.schema).ok()?;
        let required = schema.get("required").and_then(Value::as_array).map_or_else(Vec::new, |names| {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        });
        match jsonschema::options().build(&schema) {
            Ok(validator) => Some(Compiled { simple: Simple::of(&schema), validator, required }),
            Err(error) => {
                tracing::warn!(%error, "a tool's schema cannot be used; its server checks the arguments alone");
                None
            }
        }
    }
}

impl ArgumentCheck for ToolCheck {
    fn check(&self, arguments: Option<&[u8]>) -> Result<(), ArgumentProblem> {
        let Some(compiled) = self.compiled() else { return Ok(()) };
        if let Some(simple) = &compiled.simple
            && simple.fits(arguments.unwrap_or(b"{}"))
        {
            return Ok(());
        }
        let mut instance: Value = match arguments {
            None => Value::Object(serde_json::Map::new()),
            Some(json) => unambiguous(json)?,
        };
        // Many clients write null for an optional argument they leave out, and servers take it so.
        if let Value::Object(members) = &mut instance {
            members.retain(|name, value| !value.is_null() || compiled.required.iter().any(|one| one == name));
        }
        if let Err(error) = compiled.validator.validate(&instance) {
            // An optional null that the schema does allow has been left out above, so this is a real problem.
            return Err(ArgumentProblem {
                path: error.instance_path().to_string(),
                message: error.to_string(),
                without_value: error.masked().to_string(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, arguments: Option<&str>) -> Result<(), String> {
        let check = ToolCheck::new(bytes::Bytes::copy_from_slice(schema.as_bytes()));
        check.check(arguments.map(str::as_bytes)).map_err(|problem| problem.path)
    }

    #[test]
    fn schemas_are_of_2020_12() {
        let schema = r#"{"type":"object","properties":{"pair":{"prefixItems":[{"type":"integer"}],"items":false}},
            "dependentRequired":{"card":["name"]},"unevaluatedProperties":false}"#;
        assert_eq!(check(schema, Some(r#"{"pair":[1]}"#)), Ok(()));
        assert_eq!(check(schema, Some(r#"{"pair":["1"]}"#)), Err("/pair/0".into()));
        assert_eq!(check(schema, Some(r#"{"pair":[1,2]}"#)), Err("/pair/1".into()));
        assert_eq!(
            check(r#"{"dependentRequired":{"card":["name"]}}"#, Some(r#"{"card":1}"#)),
            Err(String::new())
        );
        assert_eq!(check(schema, Some(r#"{"other":1}"#)), Err(String::new()));
    }

    #[test]
    fn arguments_of_a_schema_that_is_too_large_are_left_to_the_server() {
        let schema = |length| {
            let padding = "x".repeat(length);
            format!(
                r#"{{"type":"object","description":"{padding}","properties":{{"n":{{"type":"integer"}}}}}}"#
            )
        };
        assert_eq!(check(&schema(MAX_SCHEMA - 200), Some(r#"{"n":"1"}"#)), Err("/n".into()));
        assert_eq!(check(&schema(MAX_SCHEMA), Some(r#"{"n":"1"}"#)), Ok(()));
    }

    #[test]
    fn arguments_must_fit() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer"},"deep":{"type":"object",
            "properties":{"flag":{"type":"boolean"}}}},"required":["n"]}"#;
        assert_eq!(check(schema, Some(r#"{"n":1}"#)), Ok(()));
        assert_eq!(check(schema, Some(r#"{"n":"1"}"#)), Err("/n".into()));
        assert_eq!(check(schema, Some(r#"{"n":1,"deep":{"flag":3}}"#)), Err("/deep/flag".into()));
        assert_eq!(check(schema, None), Err(String::new()));
        assert_eq!(check(schema, Some(r#"{"n":null}"#)), Err("/n".into()));
        assert_eq!(
            check(schema, Some(r#"{"n":1,"deep":null}"#)),
            Ok(()),
            "an optional null counts as absent"
        );
    }

    #[test]
    fn a_schema_that_points_elsewhere_is_not_fetched() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("schema.json");
        std::fs::write(&file, r#"{"required":["n"]}"#).unwrap();
        for elsewhere in [
            format!("http://{}/schema.json", listener.local_addr().unwrap()),
            format!("file://{}", file.display()),
        ] {
            let schema = serde_json::json!({"type": "object", "$ref": elsewhere}).to_string();
            assert_eq!(check(&schema, Some("{}")), Ok(()), "{elsewhere}");
        }
        let nobody = listener.accept().unwrap_err();
        assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock, "nobody has come for it");
    }
}
