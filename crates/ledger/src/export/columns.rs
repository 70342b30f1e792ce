//! The columns of the flat formats, in one table.

use std::borrow::Cow;

use crate::record::{Body, Record};

/// A column: its name and how to get its value.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) content: Content,
}

/// What a column holds. Every row has a value; what is absent is 0 or empty.
pub(super) enum Content {
    Number(fn(&Record) -> i64),
    /// Microseconds since 1970.
    Time(fn(&Record) -> i64),
    Text(for<'a> fn(&'a Record) -> Cow<'a, str>),
}

const fn number(name: &'static str, value: fn(&Record) -> i64) -> Column {
    Column { name, content: Content::Number(value) }
}

const fn text(name: &'static str, value: for<'a> fn(&'a Record) -> Cow<'a, str>) -> Column {
    Column { name, content: Content::Text(value) }
}

/// All columns, in order.
pub(super) const COLUMNS: &[Column] = &[
    Column { name: "time_us", content: Content::Time(|record| record.time_us) },
    text("replica", |record| Cow::Borrowed(&record.replica)),
    number("sequence", |record| record.sequence as i64),
    text("caller", |record| Cow::Borrowed(&record.caller)),
    text("groups", |record| Cow::Owned(record.groups.join(" "))),
    text("kind", |record| Cow::Borrowed(record.kind.as_str())),
    text("server", |record| Cow::Borrowed(&record.server)),
    text("exposed", |record| Cow::Borrowed(&record.exposed)),
    text("native", |record| Cow::Borrowed(&record.native)),
    text("era", |record| Cow::Borrowed(record.era.as_str())),
    text("status", |record| Cow::Borrowed(record.status.as_str())),
    number("error_code", |record| record.error_code.map_or(0, i64::from)),
    number("duration_us", |record| record.duration_us as i64),
    number("price_reserved", |record| record.price_reserved as i64),
    number("price_settled", |record| record.price_settled as i64),
    text("trace_id", |record| Cow::Owned(trace_id(record).unwrap_or_default())),
    number("policy_revision", |record| record.policy_revision as i64),
    number("arguments_size", |record| size(&record.arguments)),
    text("arguments_digest", |record| digest(&record.arguments)),
    text("arguments", |record| kept(&record.arguments)),
    number("result_size", |record| size(&record.result)),
    text("result_digest", |record| digest(&record.result)),
    text("result", |record| kept(&record.result)),
];

/// The trace id in hexadecimal digits.
pub(super) fn trace_id(record: &Record) -> Option<String> {
    record.trace_id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn size(body: &Option<Body>) -> i64 {
    body.as_ref().map_or(0, |body| body.size() as i64)
}

fn digest(body: &Option<Body>) -> Cow<'static, str> {
    body.as_ref().map_or(Cow::Borrowed(""), |body| Cow::Owned(body.digest().to_string()))
}

fn kept(body: &Option<Body>) -> Cow<'_, str> {
    body.as_ref().map_or(Cow::Borrowed(""), |body| String::from_utf8_lossy(&body.kept))
}
