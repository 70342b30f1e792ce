//! Amounts of bytes as people write them: `10MB`, `64KiB`, `1g`, or a bare number of bytes.
//!
//! `KB`, `MB` and `GB` count in powers of 1,024 like `KiB`, `MiB` and `GiB`: a limit is then never lower than
//! what was meant.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const UNITS: [(&str, u64); 4] = [("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10), ("", 1)];

/// Why a text is not an amount of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an amount of bytes; write for example 65536, 64KB, 10MB or 1GB")]
pub struct NotAByteSize {
    text: String,
}

/// Reads an amount of bytes.
pub fn parse(text: &str) -> Result<usize, NotAByteSize> {
    let refuse = || NotAByteSize { text: text.to_owned() };
    let plain = text.trim().to_uppercase();
    let split = plain.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(plain.len());
    let (number, unit) = plain.split_at(split);
    let unit = unit.trim();
    let unit = unit.strip_suffix("IB").or_else(|| unit.strip_suffix('B')).unwrap_or(unit);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(refuse)?;
    if let Ok(whole) = number.parse::<u64>() {
        let bytes = whole.checked_mul(*factor).ok_or_else(refuse)?;
        return usize::try_from(bytes).map_err(|_| refuse());
    }
    let number: f64 = number.parse().map_err(|_| refuse())?;
    let bytes = number * *factor as f64;
    if bytes.is_finite() && bytes >= 0.0 && bytes < (1u64 << 52) as f64 {
        Ok(bytes as usize)
    } else {
        Err(refuse())
    }
}

/// Writes an amount of bytes with the largest unit that fits exactly.
pub fn write(bytes: usize) -> String {
    let bytes = bytes as u64;
    let (unit, factor) =
        UNITS.iter().find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor)).unwrap_or(&("", 1));
    if unit.is_empty() { bytes.to_string() } else { format!("{}{unit}B", bytes / factor) }
}

/// An amount of bytes as it stands in a file, for the schema and for reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ByteSizeText(pub(crate) usize);

impl<'de> Deserialize<'de> for ByteSizeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        parse(&text).map(Self).map_err(de::Error::custom)
    }
}

impl Serialize for ByteSizeText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&write(self.0))
    }
}

impl JsonSchema for ByteSizeText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ByteSize".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"], "format": "toolgate-byte-size" })
    }
}

/// `#[serde(with = …)]` for an amount of bytes.
pub(crate) mod plain {
    use super::{ByteSizeText, Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &usize, serializer: S) -> Result<S::Ok, S::Error> {
        ByteSizeText(*value).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
        ByteSizeText::deserialize(deserializer).map(|text| text.0)
    }
}

/// `#[serde(with = …)]` for an amount of bytes that may be absent.
pub(crate) mod optional {
    use super::{ByteSizeText, Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &Option<usize>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(ByteSizeText).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
        Option::<ByteSizeText>::deserialize(deserializer).map(|text| text.map(|text| text.0))
    }
}
