//! Exports say what the journal says.

use serde_json::{Value, json};
use tempfile::TempDir;
use toolgate_ledger::export::{Format, export};
use toolgate_ledger::replay::Replay;
use toolgate_ledger::{BodyRef, RecordRef, Status};

use crate::scene::{NOON_US, call, open};

fn exported(format: Format) -> Vec<u8> {
    let place = TempDir::new().unwrap();
    let ledger = open(place.path());
    ledger.append(&call("ann", "forecast", Status::Ok, NOON_US)).unwrap();
    let cut = BodyRef::new(br#"{"long":"body"}"#, 5);
    let other = RecordRef { arguments: Some(cut), ..call("=evil,", "x", Status::Error, NOON_US + 1) };
    ledger.append(&other).unwrap();
    let mut out = Vec::new();
    assert_eq!(export(format, Replay::since(place.path(), 0).unwrap(), &mut out).unwrap(), 2);
    out
}

#[test]
fn json_lines() {
    let out = String::from_utf8(exported(Format::JsonLines)).unwrap();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["arguments"]["body"], json!({"city": "Rome"}));
    assert_eq!(lines[0]["trace_id"], json!("ab".repeat(16)));
    assert_eq!(lines[0].get("error_code"), None);
    assert_eq!(lines[1]["arguments"]["body"], json!("{\"lon"));
    assert_eq!(lines[1]["arguments"]["cut"], json!(true));
    assert_eq!(lines[1]["error_code"], json!(-32005));
}

#[test]
fn comma_separated_values() {
    let out = String::from_utf8(exported(Format::Csv)).unwrap();
    let lines: Vec<_> = out.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("time_us,replica,sequence,caller,"));
    assert!(lines[1].contains(r#","{""city"":""Rome""}","#), "{}", lines[1]);
    assert!(lines[2].contains(r#","'=evil,","#), "a formula stays text: {}", lines[2]);
}

#[test]
fn parquet_has_its_frame() {
    let out = exported(Format::Parquet);
    let (body, end) = out.split_last_chunk::<4>().unwrap();
    let (body, length) = body.split_last_chunk::<4>().unwrap();
    assert_eq!((&out[..4], end), (&b"PAR1"[..], b"PAR1"));
    let metadata = &body[body.len() - u32::from_le_bytes(*length) as usize..];
    let names = ["time_us", "caller", "arguments", "result_digest"];
    assert!(names.iter().all(|name| metadata.windows(name.len()).any(|window| window == name.as_bytes())));
}
