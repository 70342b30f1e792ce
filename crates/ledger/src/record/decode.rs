//! Bytes back to a record. Input is whatever lies on disk, so every length is checked before it is used.

use std::sync::Arc;

use super::encode::flag;
use super::{Body, Digest, ENCODING_VERSION, Era, Kind, Record, Status};

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

impl Record {
    /// Decodes the bytes of one whole record; replica and sequence come from the journal around them.
    pub fn decode(bytes: &[u8], replica: Arc<str>, sequence: u64) -> Result<Self, DecodeError> {
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
        let caller = input.text()?.to_owned();
        let group_count = input.number()?;
        let groups = (0..group_count).map(|_| input.text().map(Arc::from)).collect::<Result<_, _>>()?;
        let server = input.text()?.to_owned();
        let exposed = input.text()?.to_owned();
        let native = if flags & flag::NATIVE_ENDS_EXPOSED != 0 {
            let start = exposed.len().checked_sub(input.length()?).ok_or(DecodeError::OutOfRange)?;
            exposed.get(start..).ok_or(DecodeError::OutOfRange)?.to_owned()
        } else {
            input.text()?.to_owned()
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
            replica,
            sequence,
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
}

struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
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

    fn number(&mut self) -> Result<u64, DecodeError> {
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

    fn length(&mut self) -> Result<usize, DecodeError> {
        usize::try_from(self.number()?).map_err(|_| DecodeError::OutOfRange)
    }

    fn text(&mut self) -> Result<&'a str, DecodeError> {
        let length = self.length()?;
        std::str::from_utf8(self.take(length)?).map_err(|_| DecodeError::NotText)
    }

    fn body(&mut self) -> Result<Body, DecodeError> {
        let size_and_digest = self.number()?;
        let digest = if size_and_digest & 1 == 0 {
            Digest::Checksum(u64::from_le_bytes(self.array()?))
        } else {
            Digest::Sha256(self.array()?)
        };
        let length = self.length()?;
        Ok(Body { size: size_and_digest >> 1, digest, kept: self.take(length)?.to_vec() })
    }
}
