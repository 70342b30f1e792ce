//! Lengths of time as people write them: `30s`, `500ms`, `5m`, `2h`, `7d`, `1m30s`, or bare seconds.

use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Units from the largest to the smallest, in milliseconds.
const UNITS: [(&str, u64); 6] =
    [("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
/// About three hundred years; more is a mistake and would overflow clocks.
const LONGEST_MS: u64 = 10_000_000_000_000;

/// Why a text is not a length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a length of time; write for example 30s, 500ms, 5m, 2h or 7d")]
pub struct NotADuration {
    text: String,
}

/// Reads a length of time.
pub fn parse(text: &str) -> Result<Duration, NotADuration> {
    let refuse = || NotADuration { text: text.to_owned() };
    let mut rest = text.trim();
    if let Ok(seconds) = rest.parse::<f64>() {
        return from_ms(seconds * 1_000.0).ok_or_else(refuse);
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(refuse)?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let number: f64 = number.parse().map_err(|_| refuse())?;
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(refuse)?;
        total += number * *factor as f64;
        rest = after.trim_start();
    }
    if text.trim().is_empty() { Err(refuse()) } else { from_ms(total).ok_or_else(refuse) }
}

/// Writes a length of time with the largest unit that fits exactly.
pub fn write(duration: Duration) -> String {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(LONGEST_MS);
    if ms == 0 {
        return "0s".to_owned();
    }
    let (unit, factor) = UNITS.iter().find(|(_, factor)| ms.is_multiple_of(*factor)).unwrap_or(&("ms", 1));
    format!("{}{unit}", ms / factor)
}

fn from_ms(ms: f64) -> Option<Duration> {
    let fits = ms.is_finite() && ms >= 0.0 && ms <= LONGEST_MS as f64;
    fits.then(|| Duration::from_millis(ms.round() as u64))
}

/// A length of time as it stands in a file, for the schema and for reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DurationText(pub(crate) Duration);

impl<'de> Deserialize<'de> for DurationText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        parse(&text).map(Self).map_err(de::Error::custom)
    }
}

impl Serialize for DurationText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&write(self.0))
    }
}

impl JsonSchema for DurationText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"], "format": "toolgate-duration" })
    }
}

/// `#[serde(with = …)]` for a length of time.
pub(crate) mod plain {
    use super::{Deserialize, Deserializer, Duration, DurationText, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        DurationText(*value).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        DurationText::deserialize(deserializer).map(|text| text.0)
    }
}

/// `#[serde(with = …)]` for a length of time that may be absent.
pub(crate) mod optional {
    use super::{Deserialize, Deserializer, Duration, DurationText, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(DurationText).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Option::<DurationText>::deserialize(deserializer).map(|text| text.map(|text| text.0))
    }
}

/// `#[serde(with = …)]` for a map of lengths of time.
pub(crate) mod map {
    use std::collections::BTreeMap;

    use super::{Deserialize, Deserializer, Duration, DurationText, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        value: &BTreeMap<String, Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(value.iter().map(|(key, duration)| (key, DurationText(*duration))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, Duration>, D::Error> {
        let map = BTreeMap::<String, DurationText>::deserialize(deserializer)?;
        Ok(map.into_iter().map(|(key, text)| (key, text.0)).collect())
    }
}
