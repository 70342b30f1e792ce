//! The bytes of a segment: one header, then frames, with a link behind those that were written together.
//!
//! ```text
//! header  magic 8 · version 2 · header length 2 · number 8 · first sequence 8 · created 8 · previous link 32
//!         · replica length 1 · replica · CRC32C 4
//! frame   payload length 4 · CRC32C 4 · sequence 8 · payload
//! link    zero 4 · CRC32C 4 · sequence of the next frame 8 · BLAKE3 32
//! ```
//!
//! Numbers are little-endian. A checksum covers all of a frame or link but itself, the length included, so that no flipped
//! bit passes. The chain starts with the hash of the header. Each link is the hash of all frames since the one before it,
//! which is its key, and the next segment's header carries the last one. Frames that were written and got no link, since
//! their writer was killed, are covered by the next one.

/// The bytes in front of every payload.
pub(crate) const FRAME_HEADER_LENGTH: usize = 16;
/// The bytes of a link.
pub(crate) const LINK_LENGTH: usize = FRAME_HEADER_LENGTH + HASH_LENGTH;
/// The longest record that is written or believed.
pub const MAXIMUM_PAYLOAD_LENGTH: usize = 4 << 20;
/// More than any header takes: the fixed part and the longest replica name.
pub(crate) const MAXIMUM_HEADER_LENGTH: usize = 512;

const HASH_LENGTH: usize = 32;
const MAGIC: [u8; 8] = *b"TGLEDGER";
const FORMAT_VERSION: u16 = 2;
const FIXED_HEADER_LENGTH: usize = 8 + 2 + 2 + 8 + 8 + 8 + HASH_LENGTH + 1 + 4;

/// A link of the hash chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain([u8; HASH_LENGTH]);

impl Chain {
    /// What stands before the first segment, and after a segment that could not be read.
    pub(crate) const UNKNOWN: Self = Self([0; HASH_LENGTH]);

    pub(crate) fn of_header(header: &[u8]) -> Self {
        Self(*blake3::hash(header).as_bytes())
    }

    /// The link behind `frames`.
    pub(crate) fn over(&self, frames: &[u8]) -> Self {
        let mut closing = self.closing();
        closing.add(frames);
        closing.link()
    }

    /// The link behind frames that come one by one.
    pub(crate) fn closing(&self) -> UnfinishedLink {
        UnfinishedLink(Box::new(blake3::Hasher::new_keyed(&self.0)))
    }

    pub(crate) fn bytes(&self) -> &[u8; HASH_LENGTH] {
        &self.0
    }
}

/// A link that is being made.
#[derive(Debug, Clone)]
pub(crate) struct UnfinishedLink(Box<blake3::Hasher>);

impl UnfinishedLink {
    pub(crate) fn add(&mut self, frames: &[u8]) {
        self.0.update(frames);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.count() == 0
    }

    pub(crate) fn link(&self) -> Chain {
        Chain(*self.0.finalize().as_bytes())
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

/// The fields in front of a payload, or of a link's hash.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameHeader {
    length: u32,
    crc: u32,
    pub(crate) sequence: u64,
}

impl FrameHeader {
    fn of(sequence: u64, length: u32, body: &[u8]) -> Self {
        Self { length, crc: checksum(sequence, length, body), sequence }
    }

    /// The header of a record's frame.
    pub(crate) fn of_record(sequence: u64, payload: &[u8]) -> Self {
        Self::of(sequence, payload.len() as u32, payload)
    }

    pub(crate) fn decode(bytes: &[u8; FRAME_HEADER_LENGTH]) -> Self {
        let [a, b, c, d, e, f, g, h, sequence @ ..] = *bytes;
        Self {
            length: u32::from_le_bytes([a, b, c, d]),
            crc: u32::from_le_bytes([e, f, g, h]),
            sequence: u64::from_le_bytes(sequence),
        }
    }

    pub(crate) fn encode(&self) -> [u8; FRAME_HEADER_LENGTH] {
        let mut bytes = [0; FRAME_HEADER_LENGTH];
        bytes[..4].copy_from_slice(&self.length.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.crc.to_le_bytes());
        bytes[8..].copy_from_slice(&self.sequence.to_le_bytes());
        bytes
    }

    pub(crate) fn is_link(&self) -> bool {
        self.length == 0
    }

    /// How many bytes follow.
    pub(crate) fn body_length(&self) -> usize {
        if self.is_link() { HASH_LENGTH } else { self.length as usize }
    }

    /// Whether the length is one that a writer could have written.
    pub(crate) fn has_possible_length(&self) -> bool {
        self.length as usize <= MAXIMUM_PAYLOAD_LENGTH
    }

    pub(crate) fn matches(&self, body: &[u8]) -> bool {
        self.crc == checksum(self.sequence, self.length, body)
    }
}

/// Whole frames, one behind the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frames<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) records: u64,
}

impl<'a> Frames<'a> {
    /// As many of the frames at the start of `bytes` as have room in `room` bytes, but at least one.
    pub(crate) fn fitting(bytes: &'a [u8], room: u64) -> Self {
        let mut fitting = Self { bytes: &[], records: 0 };
        for (_, payload) in frames(bytes) {
            let end = fitting.bytes.len() + FRAME_HEADER_LENGTH + payload.len();
            if fitting.records > 0 && end as u64 > room {
                break;
            }
            fitting = Self { bytes: bytes.get(..end).unwrap_or_default(), records: fitting.records + 1 };
        }
        fitting
    }
}

/// The frames of records at the start of `bytes`, as far as their lengths lead; nothing is checked.
pub(crate) fn frames(bytes: &[u8]) -> impl Iterator<Item = (FrameHeader, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (head, behind) = rest.split_first_chunk()?;
        let header = FrameHeader::decode(head);
        let (payload, others) =
            behind.split_at_checked(header.body_length()).filter(|_| !header.is_link())?;
        rest = others;
        Some((header, payload))
    })
}

/// Appends the frame of `payload` to `out`.
pub(crate) fn put_frame(out: &mut Vec<u8>, sequence: u64, payload: &[u8]) {
    out.extend(FrameHeader::of_record(sequence, payload).encode());
    out.extend(payload);
}

/// The bytes of a link, with the number of the frame that comes next.
pub(crate) fn link_bytes(sequence: u64, chain: &Chain) -> [u8; LINK_LENGTH] {
    let mut bytes = [0; LINK_LENGTH];
    let (head, hash) = bytes.split_at_mut(FRAME_HEADER_LENGTH);
    head.copy_from_slice(&FrameHeader::of(sequence, 0, chain.bytes()).encode());
    hash.copy_from_slice(chain.bytes());
    bytes
}

fn checksum(sequence: u64, length: u32, body: &[u8]) -> u32 {
    // A checksum of few bytes costs as much as one of some dozen, so these are put together first.
    let mut head = [0; 12];
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..].copy_from_slice(&sequence.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(&head), body)
}
