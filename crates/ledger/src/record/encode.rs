//! A record as bytes: a version, fixed one-byte codes, then variable-length numbers and length-prefixed strings.
//!
//! Small calls dominate, so small numbers take one byte and a native name that ends the exposed one (`echo` in
//! `server__echo`) is only a length.

use std::borrow::Cow;

use super::{BodyRef, ENCODING_VERSION, RecordRef};

/// Names are written up to this many bytes, with a mark where they were cut. They come from outside.
const LONGEST_NAME: usize = 8 << 10;
const CUT: &str = "…";

/// Marks in the flags byte which optional parts follow.
pub(super) mod flag {
    pub(in crate::record) const ARGUMENTS: u8 = 1;
    pub(in crate::record) const RESULT: u8 = 2;
    pub(in crate::record) const ERROR_CODE: u8 = 4;
    pub(in crate::record) const TRACE_ID: u8 = 8;
    pub(in crate::record) const NATIVE_ENDS_EXPOSED: u8 = 16;
    pub(in crate::record) const ALL: u8 = 31;
}

impl RecordRef<'_> {
    /// Appends the encoded record to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (exposed, native) = (short(self.exposed), short(self.native));
        let native_ends_exposed = exposed.ends_with(&*native);
        let mut flags = 0;
        for (set, bit) in [
            (self.arguments.is_some(), flag::ARGUMENTS),
            (self.result.is_some(), flag::RESULT),
            (self.error_code.is_some(), flag::ERROR_CODE),
            (self.trace_id.is_some(), flag::TRACE_ID),
            (native_ends_exposed, flag::NATIVE_ENDS_EXPOSED),
        ] {
            if set {
                flags |= bit;
            }
        }
        out.extend([ENCODING_VERSION, flags, self.kind.code(), self.status.code(), self.era.code()]);
        out.extend(self.time_us.to_le_bytes());
        for number in [self.duration_us, self.price_reserved, self.price_settled, self.policy_revision] {
            put_number(out, number);
        }
        put_bytes(out, short(self.caller).as_bytes());
        put_number(out, self.groups.len() as u64);
        for group in self.groups {
            put_bytes(out, group.as_bytes());
        }
        put_bytes(out, self.server.as_bytes());
        put_bytes(out, exposed.as_bytes());
        if native_ends_exposed {
            put_number(out, native.len() as u64);
        } else {
            put_bytes(out, native.as_bytes());
        }
        if let Some(code) = self.error_code {
            out.extend(code.to_le_bytes());
        }
        if let Some(trace_id) = self.trace_id {
            out.extend(trace_id);
        }
        for body in [self.arguments, self.result].into_iter().flatten() {
            put_body(out, &body);
        }
    }
}

fn short(name: &str) -> Cow<'_, str> {
    if name.len() <= LONGEST_NAME {
        return Cow::Borrowed(name);
    }
    let end = name.floor_char_boundary(LONGEST_NAME - CUT.len());
    Cow::Owned(format!("{}{CUT}", name.get(..end).unwrap_or_default()))
}

fn put_body(out: &mut Vec<u8>, body: &BodyRef<'_>) {
    // The lowest bit says whether the kept bytes are only a part.
    put_number(out, (body.kept.len() as u64) << 1 | u64::from(body.part_of.is_some()));
    if let Some(whole) = &body.part_of {
        put_number(out, whole.size);
        out.extend(whole.sha256);
    }
    out.extend_from_slice(body.kept);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Seven bits a byte, lowest first, the high bit set on all but the last.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
