//! Records that wait to be written together, where they cannot land.

use std::sync::{Arc, OnceLock};

use super::writer::AppendError;

/// A buffer that grew beyond this is given back, so that one large record does not stay in memory.
const KEPT_BYTES: usize = 64 << 10;

/// Encoded records that wait to be written together.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) records: Payloads,
    pub(super) batch: Arc<Batch>,
}

/// Encoded records, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Payloads {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl Payloads {
    pub(super) fn push(&mut self, payload: &[u8]) {
        self.bytes.extend_from_slice(payload);
        self.lengths.push(payload.len());
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let mut rest = self.bytes.as_slice();
        self.lengths.iter().map_while(move |length| {
            let (payload, others) = rest.split_at_checked(*length)?;
            rest = others;
            Some(payload)
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.lengths.len() as u64
    }

    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.lengths.clear();
    }
}

/// What became of records that were written together: the sequence of the first, or why none was written.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) outcome: OnceLock<Result<u64, AppendError>>,
}
