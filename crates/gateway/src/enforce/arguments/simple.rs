//! Most tools take a flat object of texts, numbers and flags. Whether arguments fit such a schema is seen from their
//! bytes, without building them as values. It only ever says yes: where it does not, the full validator decides and
//! finds the words.

use serde_json::{Map, Value};
use toolgate_protocol::object;
use toolgate_protocol::scan::Shape;

/// Keywords that say nothing about what fits.
const SILENT: [&str; 10] = [
    "$schema",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "type",
];

/// The most properties that are looked through one by one.
const MOST_PROPERTIES: usize = 32;

/// A schema of this simple form.
#[derive(Debug)]
pub(super) struct Simple {
    properties: Vec<Property>,
    /// A bit for each property that must be there.
    required: u32,
    is_closed: bool,
}

#[derive(Debug)]
struct Property {
    name: Vec<u8>,
    /// Nothing where anything fits.
    types: Option<Vec<Type>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Shape(Shape),
    Integer,
}

impl Simple {
    /// The schema, if it is that simple.
    pub(super) fn of(schema: &Value) -> Option<Simple> {
        let schema = schema.as_object()?;
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return None;
        }
        let known = ["properties", "required", "additionalProperties"];
        if schema.keys().any(|key| !SILENT.contains(&&**key) && !known.contains(&&**key)) {
            return None;
        }
        let is_closed = match schema.get("additionalProperties") {
            None | Some(Value::Bool(true)) => false,
            Some(Value::Bool(false)) => true,
            Some(_) => return None,
        };
        let nothing = Map::new();
        let properties = match schema.get("properties") {
            None => &nothing,
            Some(properties) => properties.as_object()?,
        };
        if properties.len() > MOST_PROPERTIES {
            return None;
        }
        let properties: Vec<_> = properties.iter().map(Property::of).collect::<Option<_>>()?;
        let mut required = 0;
        for name in
            schema.get("required").map_or(Some(&[][..]), |names| names.as_array().map(Vec::as_slice))?
        {
            let name = name.as_str()?.as_bytes();
            required |= 1 << properties.iter().position(|property| property.name == name)?;
        }
        Some(Simple { properties, required, is_closed })
    }

    /// Whether these arguments certainly fit.
    pub(super) fn fits(&self, arguments: &[u8]) -> bool {
        let mut seen = 0_u32;
        let all_fit = object::all_members(arguments, |key, value| {
            // A key in another spelling may be any of the properties.
            if key.contains(&b'\\') {
                return false;
            }
            let found = self.properties.iter().enumerate().find(|(_, property)| property.name == key);
            let Some((place, property)) = found else { return !self.is_closed };
            let bit = 1 << place;
            // What stands twice is for the full check to refuse.
            let is_first = seen & bit == 0;
            seen |= bit;
            is_first && (property.fits(value) || (self.required & bit == 0 && value == b"null"))
        });
        all_fit && seen & self.required == self.required
    }
}

impl Property {
    fn of((name, schema): (&String, &Value)) -> Option<Property> {
        let schema = match schema {
            Value::Bool(true) => return Some(Property { name: name.clone().into_bytes(), types: None }),
            schema => schema.as_object()?,
        };
        if schema.keys().any(|key| !SILENT.contains(&&**key)) {
            return None;
        }
        let types = match schema.get("type") {
            None => None,
            Some(Value::String(one)) => Some(vec![Type::named(one)?]),
            Some(several) => Some(
                several.as_array()?.iter().map(|one| Type::named(one.as_str()?)).collect::<Option<_>>()?,
            ),
        };
        Some(Property { name: name.clone().into_bytes(), types })
    }

    fn fits(&self, value: &[u8]) -> bool {
        let Some(types) = &self.types else { return true };
        let Some(shape) = Shape::of(value) else { return false };
        types.iter().any(|one| match one {
            Type::Shape(wanted) => *wanted == shape,
            Type::Integer => {
                shape == Shape::Number && value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
            }
        })
    }
}

impl Type {
    fn named(name: &str) -> Option<Type> {
        Some(match name {
            "string" => Type::Shape(Shape::String),
            "number" => Type::Shape(Shape::Number),
            "integer" => Type::Integer,
            "boolean" => Type::Shape(Shape::Boolean),
            "null" => Type::Shape(Shape::Null),
            "object" => Type::Shape(Shape::Object),
            "array" => Type::Shape(Shape::Array),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_certainly_fits_fits() {
        let schema = json!({
            "type": "object",
            "properties": {"n": {"type": "integer"}, "s": {"type": ["string", "null"], "title": "S"}, "any": {}},
            "required": ["n"],
            "additionalProperties": false,
        });
        let simple = Simple::of(&schema).unwrap();
        for (arguments, expected) in [
            (r#"{"n":1}"#, true),
            (r#"{"n":-1,"s":null,"any":[1]}"#, true),
            (r#"{"n":1,"any":null}"#, true),
            (r#"{"n":1.0}"#, false),
            (r#"{"n":null}"#, false),
            (r#"{"s":"x"}"#, false),
            (r#"{"n":1,"s":2}"#, false),
            (r#"{"n":1,"other":2}"#, false),
            (r#"{"\u006e":1}"#, false),
            (r#"{"n":1,"n":1}"#, false),
            ("[]", false),
        ] {
            assert_eq!(simple.fits(arguments.as_bytes()), expected, "{arguments}");
        }
    }

    #[test]
    fn what_says_more_is_not_simple() {
        for schema in [
            json!({"type": "object", "properties": {"s": {"type": "string", "minLength": 1}}}),
            json!({"type": "object", "properties": {"s": {"$ref": "#/$defs/s"}}}),
            json!({"type": "object", "required": ["s"]}),
            json!({"type": "object", "minProperties": 1}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"properties": {}}),
            json!(true),
        ] {
            assert!(Simple::of(&schema).is_none(), "{schema}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e6..1e6_f64).prop_map(Value::from),
            "[a-c\\\\\"]{0,3}".prop_map(Value::from),
            Just(json!([1, "x"])),
            Just(json!({"a": null})),
        ]
    }

    proptest! {
        #[test]
        fn whatever_fits_here_fits_the_validator(
            types in proptest::collection::vec("string|number|integer|boolean|null|object|array", 3),
            required in proptest::collection::vec(any::<bool>(), 3),
            closed in any::<bool>(),
            arguments in proptest::collection::btree_map("[a-d]", value(), 0..5),
        ) {
            let names = ["a", "b", "c"];
            let properties: Map<String, Value> =
                names.iter().zip(&types).map(|(name, one)| ((*name).to_owned(), json!({"type": one}))).collect();
            let required: Vec<_> = names.iter().zip(&required).filter(|(_, is)| **is).map(|(name, _)| name).collect();
            let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": !closed});
            let text = serde_json::to_string(&arguments).unwrap();
            if Simple::of(&schema).unwrap().fits(text.as_bytes()) {
                let kept: Map<String, Value> = arguments
                    .into_iter()
                    .filter(|(name, value)| !value.is_null() || required.contains(&&&**name))
                    .collect();
                prop_assert!(jsonschema::is_valid(&schema, &Value::Object(kept)), "{schema} {text}");
            }
        }
    }
}
