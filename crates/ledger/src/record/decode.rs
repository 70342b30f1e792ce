//! Bytes back to a record. Input is whatever lies on disk, so every length is checked before it is used.

use std::sync::Arc;

use super::encode::flag;
use super::{Body, BodyRef, ENCODING_VERSION, Era, Kind, Record, Status, Whole};

/// Bytes that are no record.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end inside the record.
    #[error("the record ends early")]
    EndsEarly,
    /// Bytes are left after the record.
    #[error("{0} bytes follow the record")]
    TrailingBytes(usize),
    /// A newer program wrote this.
    #[error("record encoding version {0} is not known; read it with the version that wrote it")]
    UnknownVersion(u8),
    /// A byte stands for nothing.
    #[error("{0} is not a known {1}")]
    UnknownCode(u8, &'static str),
    /// A name is not UTF-8.
    #[error("a name is not valid UTF-8")]
    NotText,
    /// A number is too large or a length leads outside.
    #[error("a number is out of range")]
    OutOfRange,
}

/// A record as it lies in the journal, borrowed from there.
#[derive(Debug)]
pub(crate) struct RecordView<'a> {
    pub(crate) time_us: i64,
    pub(crate) caller: &'a str,
    pub(crate) groups: Vec<&'a str>,
    pub(crate) kind: Kind,
    pub(crate) server: &'a str,
    pub(crate) exposed: &'a str,
    pub(crate) native: &'a str,
    pub(crate) era: Era,
    pub(crate) arguments: Option<BodyRef<'a>>,
    pub(crate) result: Option<BodyRef<'a>>,
    pub(crate) status: Status,
    pub(crate) error_code: Option<i32>,
    pub(crate) duration_us: u64,
    pub(crate) price_reserved: u64,
    pub(crate) price_settled: u64,
    pub(crate) trace_id: Option<[u8; 16]>,
    pub(crate) policy_revision: u64,
}

impl Record {
    /// Decodes the bytes of one whole record; replica and sequence come from the journal around them.
    pub fn decode(bytes: &[u8], replica: Arc<str>, sequence: u64) -> Result<Self, DecodeError> {
        Ok(RecordView::decode(bytes)?.to_record(replica, sequence))
    }
}

impl<'a> RecordView<'a> {
    /// Decodes the bytes of one whole record.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut input = Input { bytes };
        let [version, flags, kind, status, era] = input.array()?;
        if version != ENCODING_VERSION {
            return Err(DecodeError::UnknownVersion(version));
        }
        if flags & !flag::ALL != 0 {
            return Err(DecodeError::UnknownCode(flags, "set of flags"));
        }
        let kind = Kind::from_code(kind).ok_or(DecodeError::UnknownCode(kind, "kind"))?;
        let status = Status::from_code(status).ok_or(DecodeError::UnknownCode(status, "status"))?;
        let era = Era::from_code(era).ok_or(DecodeError::UnknownCode(era, "era"))?;
        let time_us = i64::from_le_bytes(input.array()?);
        let duration_us = input.number()?;
        let price_reserved = input.number()?;
        let price_settled = input.number()?;
        let policy_revision = input.number()?;
        let caller = input.text()?;
        let group_count = input.number()?;
        let groups = (0..group_count).map(|_| input.text()).collect::<Result<_, _>>()?;
        let server = input.text()?;
        let exposed = input.text()?;
        let native = if flags & flag::NATIVE_ENDS_EXPOSED != 0 {
            let start = exposed.len().checked_sub(input.length()?).ok_or(DecodeError::OutOfRange)?;
            exposed.get(start..).ok_or(DecodeError::OutOfRange)?
        } else {
            input.text()?
        };
        let error_code =
            if flags & flag::ERROR_CODE != 0 { Some(i32::from_le_bytes(input.array()?)) } else { None };
        let trace_id = if flags & flag::TRACE_ID != 0 { Some(input.array()?) } else { None };
        let arguments = if flags & flag::ARGUMENTS != 0 { Some(input.body()?) } else { None };
        let result = if flags & flag::RESULT != 0 { Some(input.body()?) } else { None };
        if !input.bytes.is_empty() {
            return Err(DecodeError::TrailingBytes(input.bytes.len()));
        }
        Ok(Self {
            time_us,
            caller,
            groups,
            kind,
            server,
            exposed,
            native,
            era,
            arguments,
            result,
            status,
            error_code,
            duration_us,
            price_reserved,
            price_settled,
            trace_id,
            policy_revision,
        })
    }

    /// The same on its own, with its place in the journal.
    pub(crate) fn to_record(&self, replica: Arc<str>, sequence: u64) -> Record {
        Record {
            replica,
            sequence,
            time_us: self.time_us,
            caller: self.caller.to_owned(),
            groups: self.groups.iter().copied().map(Arc::from).collect(),
            kind: self.kind,
            server: self.server.to_owned(),
            exposed: self.exposed.to_owned(),
            native: self.native.to_owned(),
            era: self.era,
            arguments: self.arguments.map(Body::from),
            result: self.result.map(Body::from),
            status: self.status,
            error_code: self.error_code,
            duration_us: self.duration_us,
            price_reserved: self.price_reserved,
            price_settled: self.price_settled,
            trace_id: self.trace_id,
            policy_revision: self.policy_revision,
        }
    }
}

/// Bytes that are read from the front.
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A number of variable length, as [`put_number`](super::put_number) writes it.
    pub(crate) fn number(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                return Err(DecodeError::OutOfRange);
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(DecodeError::OutOfRange)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(DecodeError::EndsEarly)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(DecodeError::EndsEarly)?;
        self.bytes = rest;
        Ok(*taken)
    }

    fn length(&mut self) -> Result<usize, DecodeError> {
        usize::try_from(self.number()?).map_err(|_| DecodeError::OutOfRange)
    }

    fn text(&mut self) -> Result<&'a str, DecodeError> {
        let length = self.length()?;
        std::str::from_utf8(self.take(length)?).map_err(|_| DecodeError::NotText)
    }

    fn body(&mut self) -> Result<BodyRef<'a>, DecodeError> {
        let length_and_mark = self.number()?;
        let length = usize::try_from(length_and_mark >> 1).map_err(|_| DecodeError::OutOfRange)?;
        let part_of = match length_and_mark & 1 {
            0 => None,
            _ => Some(Whole { size: self.number()?, sha256: self.array()? }),
        };
        Ok(BodyRef { kept: self.take(length)?, part_of })
    }
}
