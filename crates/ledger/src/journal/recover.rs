//! Finding the end of a journal that may have been left in the middle of a write.
//!
//! A killed process leaves at most a beginning of its last write, so the only thing ever cut is a last frame that is
//! incomplete or does not match its checksum, with nothing sound behind it. Anything else is damage somebody must look
//! at: the file stays as it is, and writing goes on in a new segment under numbers that cannot have been used.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::folder::segments;
use super::landing;
use super::reader::SegmentReader;
use super::segment::{
    Chain, FRAME_HEADER_LENGTH, FrameHeader, MAXIMUM_HEADER_LENGTH, MAXIMUM_PAYLOAD_LENGTH,
};
use super::{Damage, DamageKind, ReadError};

/// Where writing goes on.
#[derive(Debug)]
pub struct Recovered {
    /// The segment to go on in; none if the next append begins a new one.
    pub open_segment: Option<OpenSegment>,
    /// The number of the next segment to begin.
    pub next_segment: u64,
    /// The number of the next record.
    pub next_sequence: u64,
    /// The last link of the chain.
    pub chain: Chain,
    /// Records that the last writer accepted and had no time to write, in their order.
    pub landed: Vec<Vec<u8>>,
    /// What was found and done.
    pub findings: Vec<Finding>,
}

/// A segment that has room left.
#[derive(Debug)]
pub struct OpenSegment {
    /// Its number.
    pub number: u64,
    /// Its file.
    pub path: PathBuf,
    /// Its length up to the end of the last sound frame.
    pub length: u64,
    /// The link that belongs behind the last frames, where their writer had no time to write it.
    pub missing_link: Option<Chain>,
}

/// Something an operator should know about the state a journal was found in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// The last write had not finished; it was never acknowledged.
    #[error("{}: cut {bytes} bytes of an unfinished last write", segment.display())]
    CutTail {
        /// The file.
        segment: PathBuf,
        /// How much was cut.
        bytes: u64,
    },
    /// The last writer was killed before it had written all that it had accepted.
    #[error("{}: {records} records that a killed process had accepted are written now", folder.display())]
    Landed {
        /// The folder of the writer.
        folder: PathBuf,
        /// How many they are.
        records: usize,
    },
    /// A segment was begun but holds nothing.
    #[error("{}: removed a segment whose header was never finished", segment.display())]
    RemovedEmptySegment {
        /// The file.
        segment: PathBuf,
    },
    /// The last segment is damaged; it was left untouched and a new one is begun.
    #[error("the journal is damaged and was left as it is, writing goes on in a new segment: {0}")]
    Damaged(Damage),
}

/// Finds the end of the journal in `folder`, cutting an unfinished last write, and what is still to be written there.
pub fn recover(folder: &Path) -> Result<Recovered, ReadError> {
    let mut recovered = find_end(folder)?;
    // In a damaged journal numbers go on where none can have been used, so they do not tell what is in it.
    let is_damaged = recovered.findings.iter().any(|finding| matches!(finding, Finding::Damaged(_)));
    let next_sequence = if is_damaged { 0 } else { recovered.next_sequence };
    let left = landing::left_in(folder).map_err(ReadError::io(folder))?;
    recovered.landed = left.not_before(next_sequence).collect();
    if !recovered.landed.is_empty() {
        let records = recovered.landed.len();
        recovered.findings.push(Finding::Landed { folder: folder.to_owned(), records });
    }
    Ok(recovered)
}

fn find_end(folder: &Path) -> Result<Recovered, ReadError> {
    let mut recovered = Recovered {
        open_segment: None,
        next_segment: 1,
        next_sequence: 1,
        chain: Chain::UNKNOWN,
        landed: Vec::new(),
        findings: Vec::new(),
    };
    let mut known = segments(folder).map_err(ReadError::io(folder))?;
    while let Some((number, path)) = known.pop() {
        recovered.next_segment = recovered.next_segment.max(number + 1);
        match walk(&path) {
            Ok(end) => {
                recovered.resume(number, path, end);
                return Ok(recovered);
            }
            Err(Stopped { error: ReadError::Damage(damage), end }) => {
                if recovered.repair(number, &path, damage, end)? {
                    return Ok(recovered);
                }
            }
            Err(Stopped { error, .. }) => return Err(error),
        }
    }
    Ok(recovered)
}

/// The state after the last sound frame of a segment.
struct End {
    length: u64,
    next_sequence: u64,
    chain: Chain,
    missing_link: Option<Chain>,
}

struct Stopped {
    error: ReadError,
    end: Option<Box<End>>,
}

fn walk(path: &Path) -> Result<End, Stopped> {
    let mut reader = SegmentReader::open(path).map_err(|error| Stopped { error, end: None })?;
    loop {
        let step = reader.next_frame().map(|frame| frame.is_some());
        if let Ok(true) = step {
            continue;
        }
        let end = End {
            length: reader.offset(),
            next_sequence: reader.next_sequence().unwrap_or(reader.header().first_sequence),
            chain: reader.chain().unwrap_or(Chain::UNKNOWN),
            missing_link: reader.missing_link(),
        };
        return match step {
            Ok(_) => Ok(end),
            Err(error) => Err(Stopped { error, end: Some(Box::new(end)) }),
        };
    }
}

impl Recovered {
    fn resume(&mut self, number: u64, path: PathBuf, end: End) {
        self.next_sequence = end.next_sequence;
        self.chain = end.chain;
        // A newer segment was found damaged: this one is history.
        if self.next_segment == number + 1 {
            self.open_segment =
                Some(OpenSegment { number, path, length: end.length, missing_link: end.missing_link });
        }
    }

    /// Deals with a damaged last segment. Says whether the end of the journal is known now.
    fn repair(
        &mut self,
        number: u64,
        path: &Path,
        damage: Damage,
        end: Option<Box<End>>,
    ) -> Result<bool, ReadError> {
        let size = fs::metadata(path).map_err(ReadError::io(path))?.len();
        let behind = |start| sound_frame_behind(path, start).map_err(ReadError::io(path));
        let can_be_torn =
            matches!(damage.kind, DamageKind::Unfinished | DamageKind::Checksum | DamageKind::Length);
        match end {
            Some(end) if can_be_torn && !behind(damage.offset + 1)? => {
                cut(path, damage.offset).map_err(ReadError::io(path))?;
                let bytes = size - damage.offset;
                self.findings.push(Finding::CutTail { segment: path.to_owned(), bytes });
                self.resume(number, path.to_owned(), *end);
                return Ok(true);
            }
            None if size <= MAXIMUM_HEADER_LENGTH as u64 && !behind(0)? => {
                fs::remove_file(path).map_err(ReadError::io(path))?;
                self.next_segment = number;
                self.findings.push(Finding::RemovedEmptySegment { segment: path.to_owned() });
                return Ok(false);
            }
            _ => {}
        }
        // No number that may stand in the unreadable rest is ever given out again.
        let most_frames = size / FRAME_HEADER_LENGTH as u64 + 1;
        let known_from = match end_of_previous(path, number) {
            Some(sequence) => sequence.max(damage.sequence),
            None => damage.sequence,
        };
        self.next_sequence = known_from + most_frames;
        self.chain = Chain::UNKNOWN;
        self.findings.push(Finding::Damaged(damage));
        Ok(true)
    }
}

/// The first free number after the segment before this one, which counts when this one's header is unreadable.
fn end_of_previous(path: &Path, number: u64) -> Option<u64> {
    let known = segments(path.parent()?).ok()?;
    let (_, previous) = known.iter().rev().find(|(other, _)| *other < number)?;
    match walk(previous) {
        Ok(end) => Some(end.next_sequence),
        Err(stopped) => stopped.end.map(|end| end.next_sequence),
    }
}

fn cut(path: &Path, length: u64) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    file.set_len(length)?;
    file.sync_all()
}

/// Whether any byte from `start` on begins a frame with a matching checksum.
fn sound_frame_behind(path: &Path, start: u64) -> io::Result<bool> {
    const STEP: usize = 1 << 20;
    let mut file = File::open(path)?;
    let mut window = Vec::new();
    let mut position = start;
    loop {
        window.clear();
        file.seek(SeekFrom::Start(position))?;
        let longest = STEP + FRAME_HEADER_LENGTH + MAXIMUM_PAYLOAD_LENGTH;
        (&mut file).take(longest as u64).read_to_end(&mut window)?;
        for at in 0..window.len().min(STEP) {
            let rest = window.get(at..).unwrap_or_default();
            let Some((head, body)) = rest.split_first_chunk() else { return Ok(false) };
            let frame = FrameHeader::decode(head);
            if frame.has_possible_length()
                && body.get(..frame.body_length()).is_some_and(|body| frame.matches(body))
            {
                return Ok(true);
            }
        }
        if window.len() < STEP {
            return Ok(false);
        }
        position += STEP as u64;
    }
}
