//! The bytes of a segment: one header, then frames.
//!
//! ```text
//! header  magic 8 · version 2 · header length 2 · number 8 · first sequence 8 · created 8 · previous chain 32
//!         · replica length 1 · replica · CRC32C 4
//! frame   payload length 4 · CRC32C 4 · sequence 8 · chain 16 · payload
//! ```
//!
//! Numbers are little-endian. The CRC of a frame covers all of it but itself, the length included, so that no flipped
//! bit passes. The chain starts with SHA-256 of the header and goes on with SHA-256 of (previous, sequence, payload);
//! half of each link is stored, all of it goes into the next, and the next segment's header carries the last one.

use ring::digest::{Context, SHA256};

/// The bytes in front of every payload.
pub(crate) const FRAME_HEADER_LENGTH: usize = 32;
/// The longest record that is written or believed.
pub const MAXIMUM_PAYLOAD_LENGTH: usize = 4 << 20;
/// More than any header takes: the fixed part and the longest replica name.
pub(crate) const MAXIMUM_HEADER_LENGTH: usize = 512;

const MAGIC: [u8; 8] = *b"TGLEDGER";
const FORMAT_VERSION: u16 = 1;
const FIXED_HEADER_LENGTH: usize = 8 + 2 + 2 + 8 + 8 + 8 + 32 + 1 + 4;

/// A link of the hash chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain([u8; 32]);

impl Chain {
    /// What stands before the first segment, and after a segment that could not be read.
    pub(crate) const UNKNOWN: Self = Self([0; 32]);

    pub(crate) fn of_header(header: &[u8]) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(header);
        Self::finish(context)
    }

    pub(crate) fn next(&self, sequence: u64, payload: &[u8]) -> Self {
        let mut context = Context::new(&SHA256);
        let mut lead = [0; 40];
        lead[..32].copy_from_slice(&self.0);
        lead[32..].copy_from_slice(&sequence.to_le_bytes());
        context.update(&lead);
        context.update(payload);
        Self::finish(context)
    }

    /// The half that is stored with the frame.
    pub(crate) fn stored(&self) -> [u8; 16] {
        let mut stored = [0; 16];
        stored.copy_from_slice(&self.0[..16]);
        stored
    }

    fn finish(context: Context) -> Self {
        let mut link = [0; 32];
        link.copy_from_slice(context.finish().as_ref());
        Self(link)
    }
}

/// What a segment says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Its number, also its file name.
    pub number: u64,
    /// The sequence of its first frame.
    pub first_sequence: u64,
    /// When it was begun, in microseconds since 1970.
    pub created_us: i64,
    /// The last link of the segment before it.
    pub previous: Chain,
    /// The writer.
    pub replica: String,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let length = FIXED_HEADER_LENGTH + self.replica.len();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend(MAGIC);
        bytes.extend(FORMAT_VERSION.to_le_bytes());
        bytes.extend((length as u16).to_le_bytes());
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.first_sequence.to_le_bytes());
        bytes.extend(self.created_us.to_le_bytes());
        bytes.extend(self.previous.0);
        bytes.push(self.replica.len() as u8);
        bytes.extend(self.replica.as_bytes());
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// Whether `bytes`, if they are all of a file, are too few to be a header.
    pub(crate) fn is_unfinished(bytes: &[u8]) -> bool {
        bytes.len() < FIXED_HEADER_LENGTH
    }

    /// Reads the header at the start of `bytes`, and its length.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, usize)> {
        let length = usize::from(u16::from_le_bytes(*bytes.get(10..)?.first_chunk()?));
        let (body, crc) = bytes.get(..length)?.split_last_chunk::<4>()?;
        if crc32c::crc32c(body) != u32::from_le_bytes(*crc) {
            return None;
        }
        let (magic, rest) = body.split_first_chunk::<8>()?;
        let (version, rest) = rest.split_first_chunk()?;
        let (_length, rest) = rest.split_first_chunk::<2>()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (first_sequence, rest) = rest.split_first_chunk()?;
        let (created_us, rest) = rest.split_first_chunk()?;
        let (previous, rest) = rest.split_first_chunk()?;
        let (replica_length, replica) = rest.split_first()?;
        if *magic != MAGIC
            || u16::from_le_bytes(*version) != FORMAT_VERSION
            || usize::from(*replica_length) != replica.len()
        {
            return None;
        }
        let header = Self {
            number: u64::from_le_bytes(*number),
            first_sequence: u64::from_le_bytes(*first_sequence),
            created_us: i64::from_le_bytes(*created_us),
            previous: Chain(*previous),
            replica: String::from_utf8(replica.to_vec()).ok()?,
        };
        Some((header, length))
    }
}

/// The fields in front of a payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameHeader {
    pub(crate) length: usize,
    pub(crate) sequence: u64,
    pub(crate) chain: [u8; 16],
    crc: u32,
}

impl FrameHeader {
    pub(crate) fn decode(bytes: &[u8; FRAME_HEADER_LENGTH]) -> Self {
        let [a, b, c, d, e, f, g, h, rest @ ..] = *bytes;
        let mut sequence = [0; 8];
        let mut chain = [0; 16];
        sequence.copy_from_slice(&rest[..8]);
        chain.copy_from_slice(&rest[8..]);
        Self {
            length: u32::from_le_bytes([a, b, c, d]) as usize,
            crc: u32::from_le_bytes([e, f, g, h]),
            sequence: u64::from_le_bytes(sequence),
            chain,
        }
    }

    /// Whether the length is one that a writer could have written.
    pub(crate) fn has_possible_length(&self) -> bool {
        (1..=MAXIMUM_PAYLOAD_LENGTH).contains(&self.length)
    }

    pub(crate) fn matches(&self, payload: &[u8]) -> bool {
        self.crc == frame_crc(self.length, self.sequence, &self.chain, payload)
    }
}

/// Appends the frame of `payload` to `out`; `chain` is the link this payload makes.
pub(crate) fn put_frame(out: &mut Vec<u8>, sequence: u64, chain: &Chain, payload: &[u8]) {
    out.extend((payload.len() as u32).to_le_bytes());
    out.extend(frame_crc(payload.len(), sequence, &chain.stored(), payload).to_le_bytes());
    out.extend(sequence.to_le_bytes());
    out.extend(chain.stored());
    out.extend(payload);
}

fn frame_crc(length: usize, sequence: u64, chain: &[u8; 16], payload: &[u8]) -> u32 {
    // A checksum of few bytes costs as much as one of some dozen, so these are put together first.
    let mut head = [0; 28];
    head[..4].copy_from_slice(&(length as u32).to_le_bytes());
    head[4..12].copy_from_slice(&sequence.to_le_bytes());
    head[12..].copy_from_slice(chain);
    crc32c::crc32c_append(crc32c::crc32c(&head), payload)
}
