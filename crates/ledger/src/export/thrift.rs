//! As much of Thrift's compact protocol as a Parquet file's metadata takes.

/// A struct being written: fields must be put in ascending order of their numbers.
pub(super) struct Struct<'a> {
    out: &'a mut Vec<u8>,
    last_field: i16,
}

const TYPE_I32: u8 = 5;
const TYPE_I64: u8 = 6;
const TYPE_BINARY: u8 = 8;
const TYPE_LIST: u8 = 9;
const TYPE_STRUCT: u8 = 12;

/// Writes a struct whose fields `fill` puts.
pub(super) fn put_struct(out: &mut Vec<u8>, fill: impl FnOnce(&mut Struct<'_>)) {
    let mut fields = Struct { out, last_field: 0 };
    fill(&mut fields);
    out.push(0);
}

impl Struct<'_> {
    pub(super) fn i32(&mut self, field: i16, value: i32) {
        self.begin(field, TYPE_I32);
        put_signed(self.out, i64::from(value));
    }

    pub(super) fn i64(&mut self, field: i16, value: i64) {
        self.begin(field, TYPE_I64);
        put_signed(self.out, value);
    }

    pub(super) fn text(&mut self, field: i16, value: &str) {
        self.begin(field, TYPE_BINARY);
        put_text(self.out, value);
    }

    pub(super) fn structure(&mut self, field: i16, fill: impl FnOnce(&mut Struct<'_>)) {
        self.begin(field, TYPE_STRUCT);
        put_struct(self.out, fill);
    }

    pub(super) fn structures<T>(
        &mut self,
        field: i16,
        items: impl ExactSizeIterator<Item = T>,
        fill: impl Fn(&mut Struct<'_>, T),
    ) {
        self.begin_list(field, TYPE_STRUCT, items.len());
        for item in items {
            put_struct(self.out, |fields| fill(fields, item));
        }
    }

    pub(super) fn i32_list(&mut self, field: i16, values: &[i32]) {
        self.begin_list(field, TYPE_I32, values.len());
        for value in values {
            put_signed(self.out, i64::from(*value));
        }
    }

    pub(super) fn text_list(&mut self, field: i16, values: &[&str]) {
        self.begin_list(field, TYPE_BINARY, values.len());
        for value in values {
            put_text(self.out, value);
        }
    }

    fn begin(&mut self, field: i16, kind: u8) {
        // All numbers in Parquet's structs are small enough for the short form.
        self.out.push(((field - self.last_field) as u8) << 4 | kind);
        self.last_field = field;
    }

    fn begin_list(&mut self, field: i16, kind: u8, length: usize) {
        self.begin(field, TYPE_LIST);
        if length < 15 {
            self.out.push((length as u8) << 4 | kind);
        } else {
            self.out.push(0xF0 | kind);
            put_unsigned(self.out, length as u64);
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_unsigned(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_unsigned(out, ((value << 1) ^ (value >> 63)) as u64);
}

fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
