//! One JSON object a line. A body that is kept whole and is JSON stands as JSON; otherwise what is kept is a string.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::value::RawValue;

use super::columns::trace_id;
use crate::record::{Body, Record};

#[derive(Serialize)]
struct Line<'a> {
    time_us: i64,
    replica: &'a str,
    sequence: u64,
    caller: &'a str,
    groups: Vec<&'a str>,
    kind: &'a str,
    server: &'a str,
    exposed: &'a str,
    native: &'a str,
    era: &'a str,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<i32>,
    duration_us: u64,
    price_reserved: u64,
    price_settled: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    policy_revision: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<BodyLine<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<BodyLine<'a>>,
}

#[derive(Serialize)]
struct BodyLine<'a> {
    size: u64,
    digest: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    body: Kept<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Kept<'a> {
    Json(&'a RawValue),
    Text(Cow<'a, str>),
}

pub(super) fn write(record: &Record, out: &mut impl Write) -> io::Result<()> {
    let line = Line {
        time_us: record.time_us,
        replica: &record.replica,
        sequence: record.sequence,
        caller: &record.caller,
        groups: record.groups.iter().map(|group| &**group).collect(),
        kind: record.kind.as_str(),
        server: &record.server,
        exposed: &record.exposed,
        native: &record.native,
        era: record.era.as_str(),
        status: record.status.as_str(),
        error_code: record.error_code,
        duration_us: record.duration_us,
        price_reserved: record.price_reserved,
        price_settled: record.price_settled,
        trace_id: trace_id(record),
        policy_revision: record.policy_revision,
        arguments: record.arguments.as_ref().map(body_line),
        result: record.result.as_ref().map(body_line),
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}

fn body_line(body: &Body) -> BodyLine<'_> {
    let is_one_line = !body.kept.contains(&b'\n');
    let json = if body.is_whole() && is_one_line { serde_json::from_slice(&body.kept).ok() } else { None };
    BodyLine {
        size: body.size(),
        digest: body.digest().to_string(),
        cut: !body.is_whole(),
        body: match json {
            Some(json) => Kept::Json(json),
            None => Kept::Text(String::from_utf8_lossy(&body.kept)),
        },
    }
}
