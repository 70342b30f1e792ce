//! Arguments as values, read in one way only.
//!
//! JSON lets a name stand twice in an object, and readers differ in which of the two counts. A rule or a schema that saw the one
//! while the server takes the other would have judged another call, so such arguments cannot be judged at all.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::ArgumentProblem;

/// Reads the JSON text of arguments. A name that stands twice in one object is a problem.
pub fn unambiguous(arguments: &[u8]) -> Result<Value, ArgumentProblem> {
    match serde_json::from_slice::<Unambiguous>(arguments) {
        Ok(Unambiguous(value)) => Ok(value),
        Err(error) => Err(ArgumentProblem::said(String::new(), format!("they cannot be read: {error}"))),
    }
}

/// A value without names that stand twice.
struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unambiguous, D::Error> {
        deserializer.deserialize_any(Reading).map(Unambiguous)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unambiguous(value)) = elements.next_element()? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let Unambiguous(value) = members.next_value()?;
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("a name stands twice in one object"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_in_one_way_is_read_as_ever() {
        for json in
            ["{}", r#"{"a":[1,-2,2.5,18446744073709551615,null,true,"x\u00e9"],"b":{"a":{}}}"#, "[1]", "7"]
        {
            let expected: Value = serde_json::from_str(json).unwrap();
            assert_eq!(unambiguous(json.as_bytes()).unwrap(), expected, "{json}");
        }
    }

    #[test]
    fn a_name_must_not_stand_twice() {
        for json in [
            r#"{"amount":5000,"amount":1}"#,
            r#"{"amount":5000,"\u0061mount":1}"#,
            r#"{"deep":[{"a":1,"b":2,"a":1}]}"#,
        ] {
            let problem = unambiguous(json.as_bytes()).unwrap_err();
            assert!(problem.message.contains("twice"), "{json}: {problem}");
        }
    }
}
