//! Comma-separated values, as RFC 4180 has them.

use std::io::{self, Write};

use super::columns::{COLUMNS, Content};
use crate::record::Record;

pub(super) fn write_names(out: &mut impl Write) -> io::Result<()> {
    let names: Vec<_> = COLUMNS.iter().map(|column| column.name).collect();
    write!(out, "{}\r\n", names.join(","))
}

pub(super) fn write(record: &Record, out: &mut impl Write) -> io::Result<()> {
    for (index, column) in COLUMNS.iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        match column.content {
            Content::Number(value) | Content::Time(value) => write!(out, "{}", value(record))?,
            Content::Text(value) => write_text(&value(record), out)?,
        }
    }
    out.write_all(b"\r\n")
}

/// Callers choose names and arguments. A cell that a spreadsheet would run as a formula is made text by a quote in
/// front, so that opening an export runs nothing.
fn write_text(text: &str, out: &mut impl Write) -> io::Result<()> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if !is_formula && !text.contains([',', '"', '\r', '\n']) {
        return out.write_all(text.as_bytes());
    }
    let guard = if is_formula { "'" } else { "" };
    write!(out, "\"{guard}{}\"", text.replace('"', "\"\""))
}
