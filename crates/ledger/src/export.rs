//! Records as files for other programs: JSON Lines, CSV, Parquet.
//!
//! Everything is written as it is read; what is held in memory is one record, or one row group for Parquet.

mod columns;
mod csv;
mod json_lines;
mod parquet;
mod thrift;

use std::io::{self, Write};
use std::str::FromStr;

use crate::journal::ReadError;
use crate::record::Record;

/// The shape of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line.
    JsonLines,
    /// Comma-separated values with a line of names, as RFC 4180 has it.
    Csv,
    /// Apache Parquet, uncompressed.
    Parquet,
}

/// Why an export stopped.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The journal could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The output could not be written.
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
}

/// Text that names no format.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not an export format; use jsonl, csv or parquet")]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        match text {
            "jsonl" | "json" => Ok(Self::JsonLines),
            "csv" => Ok(Self::Csv),
            "parquet" => Ok(Self::Parquet),
            other => Err(UnknownFormat(other.to_owned())),
        }
    }
}

/// Writes all records in the given format. Says how many there were.
pub fn export(
    format: Format,
    records: impl Iterator<Item = Result<Record, ReadError>>,
    out: impl Write,
) -> Result<u64, ExportError> {
    let mut out = io::BufWriter::new(out);
    let count = match format {
        Format::JsonLines => write_each(records, &mut out, json_lines::write)?,
        Format::Csv => {
            csv::write_names(&mut out)?;
            write_each(records, &mut out, csv::write)?
        }
        Format::Parquet => {
            let mut file = parquet::ParquetWriter::new(&mut out)?;
            for record in records {
                file.push(&record?)?;
            }
            file.finish()?
        }
    };
    out.flush()?;
    Ok(count)
}

/// Writes one record as a line of JSON, as `export` does.
pub fn write_json_line(record: &Record, out: &mut impl Write) -> io::Result<()> {
    json_lines::write(record, out)
}

fn write_each<W: Write>(
    records: impl Iterator<Item = Result<Record, ReadError>>,
    out: &mut W,
    write: impl Fn(&Record, &mut W) -> io::Result<()>,
) -> Result<u64, ExportError> {
    let mut count = 0;
    for record in records {
        write(&record?, out)?;
        count += 1;
    }
    Ok(count)
}
