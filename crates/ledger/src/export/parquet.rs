//! A small Parquet writer: plain encoding, no compression, one page per column and row group, no absent values.

use std::io::{self, Write};
use std::iter;

use super::columns::{COLUMNS, Column, Content};
use super::thrift::{Struct, put_struct};
use crate::record::Record;

const MAGIC: &[u8; 4] = b"PAR1";
const ROWS_PER_GROUP: u64 = 10_000;
const BYTES_PER_GROUP: usize = 16 << 20;

/// Numbers that the Parquet format gives to things.
mod format {
    pub(super) const VERSION: i32 = 1;
    pub(super) const TYPE_INT64: i32 = 2;
    pub(super) const TYPE_BYTE_ARRAY: i32 = 6;
    pub(super) const REQUIRED: i32 = 0;
    pub(super) const CONVERTED_UTF8: i32 = 0;
    pub(super) const CONVERTED_TIMESTAMP_MICROS: i32 = 10;
    pub(super) const DATA_PAGE: i32 = 0;
    pub(super) const ENCODING_PLAIN: i32 = 0;
    pub(super) const ENCODING_RLE: i32 = 3;
    pub(super) const UNCOMPRESSED: i32 = 0;
}

/// Writes one file.
pub(super) struct ParquetWriter<W> {
    out: W,
    offset: u64,
    /// The values of the row group being filled, column by column.
    values: Vec<Vec<u8>>,
    rows: u64,
    groups: Vec<RowGroup>,
}

struct RowGroup {
    rows: u64,
    bytes: u64,
    chunks: Vec<Chunk>,
}

struct Chunk {
    offset: u64,
    bytes: u64,
}

impl<W: Write> ParquetWriter<W> {
    pub(super) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        let values = COLUMNS.iter().map(|_| Vec::new()).collect();
        Ok(Self { out, offset: MAGIC.len() as u64, values, rows: 0, groups: Vec::new() })
    }

    pub(super) fn push(&mut self, record: &Record) -> io::Result<()> {
        for (column, values) in COLUMNS.iter().zip(&mut self.values) {
            match column.content {
                Content::Number(value) | Content::Time(value) => values.extend(value(record).to_le_bytes()),
                Content::Text(value) => {
                    let text = value(record);
                    values.extend((text.len() as u32).to_le_bytes());
                    values.extend(text.as_bytes());
                }
            }
        }
        self.rows += 1;
        let bytes: usize = self.values.iter().map(Vec::len).sum();
        if self.rows >= ROWS_PER_GROUP || bytes >= BYTES_PER_GROUP { self.end_group() } else { Ok(()) }
    }

    /// Writes what is left and the metadata at the end. Says how many rows there are.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        if self.rows > 0 {
            self.end_group()?;
        }
        let rows = self.groups.iter().map(|group| group.rows).sum();
        // The root of the schema comes first and has no column.
        let elements: Vec<Option<&Column>> = iter::once(None).chain(COLUMNS.iter().map(Some)).collect();
        let mut metadata = Vec::new();
        put_struct(&mut metadata, |file| {
            file.i32(1, format::VERSION);
            file.structures(2, elements.into_iter(), put_schema_element);
            file.i64(3, rows as i64);
            file.structures(4, self.groups.iter(), put_row_group);
            file.text(6, "toolgate");
        });
        self.out.write_all(&metadata)?;
        self.out.write_all(&(metadata.len() as u32).to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        Ok(rows)
    }

    fn end_group(&mut self) -> io::Result<()> {
        let mut group = RowGroup { rows: self.rows, bytes: 0, chunks: Vec::with_capacity(COLUMNS.len()) };
        for values in &mut self.values {
            let mut header = Vec::new();
            put_struct(&mut header, |page| {
                page.i32(1, format::DATA_PAGE);
                page.i32(2, values.len() as i32);
                page.i32(3, values.len() as i32);
                page.structure(5, |data| {
                    data.i32(1, self.rows as i32);
                    data.i32(2, format::ENCODING_PLAIN);
                    data.i32(3, format::ENCODING_RLE);
                    data.i32(4, format::ENCODING_RLE);
                });
            });
            self.out.write_all(&header)?;
            self.out.write_all(values)?;
            let bytes = (header.len() + values.len()) as u64;
            group.chunks.push(Chunk { offset: self.offset, bytes });
            group.bytes += bytes;
            self.offset += bytes;
            values.clear();
        }
        self.groups.push(group);
        self.rows = 0;
        Ok(())
    }
}

fn put_schema_element(element: &mut Struct<'_>, column: Option<&Column>) {
    let Some(column) = column else {
        element.text(4, "ledger");
        element.i32(5, COLUMNS.len() as i32);
        return;
    };
    element.i32(1, physical_type(column));
    element.i32(3, format::REQUIRED);
    element.text(4, column.name);
    match column.content {
        Content::Number(_) => {}
        Content::Time(_) => element.i32(6, format::CONVERTED_TIMESTAMP_MICROS),
        Content::Text(_) => element.i32(6, format::CONVERTED_UTF8),
    }
}

fn put_row_group(fields: &mut Struct<'_>, group: &RowGroup) {
    let chunks: Vec<_> = COLUMNS.iter().zip(&group.chunks).collect();
    fields.structures(1, chunks.into_iter(), |fields, (column, chunk)| {
        fields.i64(2, chunk.offset as i64);
        fields.structure(3, |data| {
            data.i32(1, physical_type(column));
            data.i32_list(2, &[format::ENCODING_PLAIN, format::ENCODING_RLE]);
            data.text_list(3, &[column.name]);
            data.i32(4, format::UNCOMPRESSED);
            data.i64(5, group.rows as i64);
            data.i64(6, chunk.bytes as i64);
            data.i64(7, chunk.bytes as i64);
            data.i64(9, chunk.offset as i64);
        });
    });
    fields.i64(2, group.bytes as i64);
    fields.i64(3, group.rows as i64);
}

fn physical_type(column: &Column) -> i32 {
    match column.content {
        Content::Number(_) | Content::Time(_) => format::TYPE_INT64,
        Content::Text(_) => format::TYPE_BYTE_ARRAY,
    }
}
