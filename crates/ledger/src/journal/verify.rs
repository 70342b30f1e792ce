//! Proving that a journal is what was written: every checksum, every link, every number, every record.

use std::path::{Path, PathBuf};
use std::thread;

use serde::Serialize;

use super::folder::{folders, replica_of, segments};
use super::landing;
use super::reader::SegmentReader;
use super::segment::Chain;
use super::{Damage, DamageKind, ReadError};

/// A living writer finishes a frame in microseconds; damage is still there after this many looks.
const LOOKS_AT_AN_UNFINISHED_TAIL: usize = 50;

/// What was found in the folder of one writer.
#[derive(Debug, Clone, Serialize)]
pub struct Verification {
    /// The writer.
    pub replica: String,
    /// Segments found sound.
    pub segments: u64,
    /// Records found sound.
    pub records: u64,
    /// Bytes found sound.
    pub bytes: u64,
    /// The first and the last sequence found sound.
    pub sequences: Option<(u64, u64)>,
    /// Records that the writer has accepted and that are still to be written; whoever comes after it writes them.
    pub landed: u64,
    /// The first thing that is wrong; what lies behind it was not looked at.
    #[serde(serialize_with = "as_text")]
    pub damage: Option<Damage>,
}

/// Verifies the journals of all writers under `root`.
pub fn verify(root: &Path) -> Result<Vec<Verification>, ReadError> {
    let folders = folders(root).map_err(ReadError::io(root))?;
    folders.iter().map(|folder| verify_folder(folder)).collect()
}

/// Verifies the journal of one writer. The writer may be at work.
pub fn verify_folder(folder: &Path) -> Result<Verification, ReadError> {
    let mut found = look(folder)?;
    if let Some(damage) = &found.damage
        && was_being_written(damage)
    {
        found.damage = None;
    }
    Ok(found)
}

/// Whether what looked like damage is a sound frame by now.
fn was_being_written(damage: &Damage) -> bool {
    matches!(damage.kind, DamageKind::Unfinished | DamageKind::Checksum | DamageKind::Length)
        && (0..LOOKS_AT_AN_UNFINISHED_TAIL).any(|_| {
            thread::yield_now();
            let Ok(mut reader) = SegmentReader::open(&damage.segment) else { return false };
            // At offset 0 it was the header, which has been read by now.
            damage.offset == 0
                || reader.jump(damage.offset).is_ok() && matches!(reader.next_frame(), Ok(Some(_)))
        })
}

fn look(folder: &Path) -> Result<Verification, ReadError> {
    let mut walk = Walk {
        found: Verification {
            replica: replica_of(folder).to_string(),
            segments: 0,
            records: 0,
            bytes: 0,
            sequences: None,
            landed: 0,
            damage: None,
        },
        expected: None,
        without_link: None,
    };
    for (number, path) in segments(folder).map_err(ReadError::io(folder))? {
        match walk.segment(number, path) {
            Ok(()) => {}
            Err(ReadError::Damage(damage)) => {
                walk.found.damage = Some(damage);
                break;
            }
            Err(error) => return Err(error),
        }
    }
    let next_sequence = walk.found.sequences.map_or(0, |(_, last)| last.saturating_add(1));
    let left = landing::left_in(folder).map_err(ReadError::io(folder))?;
    walk.found.landed = left.not_before(next_sequence).count() as u64;
    Ok(walk.found)
}

struct Walk {
    found: Verification,
    /// Number, first sequence and previous link that the next segment must have.
    expected: Option<(u64, u64, Chain)>,
    /// Frames at the end of the last segment that no link covers yet. A writer would have written one before it went on.
    without_link: Option<Damage>,
}

impl Walk {
    fn segment(&mut self, number: u64, path: PathBuf) -> Result<(), ReadError> {
        if let Some(damage) = self.without_link.take() {
            return Err(damage.into());
        }
        let mut reader = SegmentReader::open(&path).map_err(|error| self.name_sequence(error))?;
        let header = reader.header();
        let misplaced = |kind, sequence| Damage { segment: path.clone(), offset: 0, sequence, kind };
        if header.number != number || header.replica != self.found.replica {
            return Err(misplaced(DamageKind::Missing, header.first_sequence).into());
        }
        if let Some((expected_number, sequence, chain)) = self.expected {
            if number != expected_number {
                return Err(misplaced(DamageKind::Missing, sequence).into());
            }
            if header.first_sequence != sequence {
                return Err(misplaced(DamageKind::Sequence, sequence).into());
            }
            if header.previous != chain {
                return Err(misplaced(DamageKind::Chain, sequence).into());
            }
        }
        while let Some((_, record)) = reader.next_record()? {
            self.found.records += 1;
            let first = self.found.sequences.map_or(record.sequence, |(first, _)| first);
            self.found.sequences = Some((first, record.sequence));
        }
        self.found.segments += 1;
        self.found.bytes += reader.offset();
        self.without_link = reader.without_link();
        self.expected =
            reader.next_sequence().zip(reader.chain()).map(|(next, chain)| (number + 1, next, chain));
        Ok(())
    }

    /// An unreadable header does not say which sequence it would begin with; the segment before it does.
    fn name_sequence(&self, error: ReadError) -> ReadError {
        match error {
            ReadError::Damage(damage) => {
                let sequence = self.expected.map_or(damage.sequence, |(_, sequence, _)| sequence);
                ReadError::Damage(Damage { sequence, ..damage })
            }
            other => other,
        }
    }
}

fn as_text<S: serde::Serializer>(damage: &Option<Damage>, serializer: S) -> Result<S::Ok, S::Error> {
    match damage {
        Some(damage) => serializer.collect_str(damage),
        None => serializer.serialize_none(),
    }
}
