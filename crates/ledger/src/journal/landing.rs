//! Where records land before they are written into the journal: memory that is a file.
//!
//! What a process has put into a mapped file is the system's as soon as it is put there. It is there when the process is
//! killed in the next moment, and no system call was made for it. So an answer may leave once its record has landed, and
//! a thread writes into the journal what has gathered, hundreds of records at a time.
//!
//! ```text
//! header  magic 8 · zero 8 · next sequence to land 8 · next sequence to be written 8 · zeros up to 4096
//! area    frames as they stand in the journal, and after them what an earlier use left; there are two of 256 KiB
//! ```
//!
//! While one area is written into the journal, as it is, records land in the other. Every writer begins with empty areas and
//! numbers only grow, so what an earlier use left is told from what landed last by its numbers.
//!
//! A mapped file has no way to refuse: where the disk has no room for a page, the process is ended. So the pages are on
//! the disk before they are used, and only on file systems that write them where they are.

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use memmap2::{MmapMut, MmapOptions};

use super::segment::{FRAME_HEADER_LENGTH, FrameHeader, frames};
use crate::private;

const FILE_NAME: &str = "landing";
const MAGIC: [u8; 8] = *b"TGLANDE2";
const HEADER_LENGTH: usize = 4096;
const AREA_LENGTH: usize = 256 << 10;
const FILE_LENGTH: usize = HEADER_LENGTH + 2 * AREA_LENGTH;
/// An area is written before it is full, so that nobody has to wait for that.
const ALMOST_FULL: usize = AREA_LENGTH / 2;

/// The longest payload that can land.
pub(super) const LONGEST_PAYLOAD: usize = AREA_LENGTH - FRAME_HEADER_LENGTH;

/// The place where records land now. Whoever has it locked puts one there.
#[derive(Debug)]
pub(super) struct Landing {
    header: MmapMut,
    open: Area,
    next_sequence: u64,
}

/// One of the two areas.
#[derive(Debug)]
pub(super) struct Area {
    map: MmapMut,
    used: usize,
    /// Of what is used, this much is in the journal.
    written: usize,
}

/// A record has landed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Landed {
    pub(super) sequence: u64,
    /// Whether there is something new to do for who writes the journal.
    pub(super) is_news: bool,
}

/// How far a landing has come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    /// The sequence of the next record to land.
    pub(super) landed: u64,
    /// The sequence of the next record to be written into the journal.
    pub(super) written: u64,
}

/// What a writer has left in its landing.
#[derive(Debug, Default)]
pub(super) struct Left {
    marks: Marks,
    /// Payloads by their sequences, those among them that are in the journal already.
    payloads: Vec<(u64, Vec<u8>)>,
}

impl Left {
    /// The payloads that are not in a journal which ends before `next_sequence`, in their order.
    pub(super) fn not_before(self, next_sequence: u64) -> impl Iterator<Item = Vec<u8>> {
        let from = next_sequence.max(self.marks.written);
        self.payloads.into_iter().filter(move |(sequence, _)| *sequence >= from).map(|(_, payload)| payload)
    }
}

impl Landing {
    /// Makes the landing of a folder ready for records from `next_sequence` on, and gives the second area. There is none
    /// on file systems that may run out of room for a page that they have written before.
    pub(super) fn open(folder: &Path, next_sequence: u64) -> io::Result<Option<(Self, Area)>> {
        let file = private::open_or_make_file(&path_in(folder))?;
        if !writes_in_place(&file) {
            fs::remove_file(path_in(folder))?;
            return Ok(None);
        }
        if file.metadata()?.len() != FILE_LENGTH as u64 {
            file.set_len(0)?;
            file.write_all_at(&vec![0; FILE_LENGTH], 0)?;
            file.sync_all()?;
        }
        let mut header = map(&file, 0, HEADER_LENGTH)?;
        let area = |at| {
            let mut map = map(&file, at, AREA_LENGTH)?;
            map.fill(0);
            Ok::<_, io::Error>(Area { map, used: 0, written: 0 })
        };
        let open = area(HEADER_LENGTH)?;
        let other = area(HEADER_LENGTH + AREA_LENGTH)?;
        put(&mut header, 0, &MAGIC);
        put(&mut header, 16, &next_sequence.to_le_bytes());
        put(&mut header, 24, &next_sequence.to_le_bytes());
        header.flush()?;
        Ok(Some((Self { header, open, next_sequence }, other)))
    }

    /// Puts a record down; nothing if there is no room for it now.
    pub(super) fn put(&mut self, payload: &[u8]) -> Option<Landed> {
        let end = self.open.used + FRAME_HEADER_LENGTH + payload.len();
        let place = self.open.map.get_mut(self.open.used..end)?;
        let sequence = self.next_sequence;
        put(place, 0, &FrameHeader::of_record(sequence, payload).encode());
        put(place, FRAME_HEADER_LENGTH, payload);
        let is_news = self.open.used == 0 || self.open.used < ALMOST_FULL && end >= ALMOST_FULL;
        self.open.used = end;
        self.set_next_sequence(sequence + 1);
        Some(Landed { sequence, is_news })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Takes what has landed for `written`, which must be empty; more lands there from now on. Says whether there was any.
    pub(super) fn swap(&mut self, written: &mut Area) -> bool {
        std::mem::swap(&mut self.open, written);
        !written.is_empty()
    }

    /// The sequence of the next record, after some were written without landing.
    pub(super) fn set_next_sequence(&mut self, sequence: u64) {
        self.next_sequence = sequence;
        put(&mut self.header, 16, &sequence.to_le_bytes());
    }

    /// All before this sequence is in the journal.
    pub(super) fn note_written(&mut self, sequence: u64) {
        put(&mut self.header, 24, &sequence.to_le_bytes());
    }
}

impl Area {
    pub(super) fn is_empty(&self) -> bool {
        self.used == self.written
    }

    /// The frames that are not in the journal yet, in the order in which they landed.
    pub(super) fn frames(&self) -> &[u8] {
        self.map.get(self.written..self.used).unwrap_or_default()
    }

    /// The first `bytes` of those are in the journal now. After the last of them the area can be used again.
    pub(super) fn note_written(&mut self, bytes: usize) {
        self.written += bytes;
        if self.is_empty() {
            (self.used, self.written) = (0, 0);
        }
    }
}

/// How far the landing of a folder has come, if it has one.
pub(super) fn marks(folder: &Path) -> io::Result<Option<Marks>> {
    let mut header = [0; 32];
    match File::open(path_in(folder)).and_then(|file| file.read_exact_at(&mut header, 0)) {
        Ok(()) => Ok(marks_in(&header)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// What the last writer of a folder left in its landing.
pub(super) fn left_in(folder: &Path) -> io::Result<Left> {
    let bytes = match fs::read(path_in(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Left::default()),
        read => read?,
    };
    let Some(marks) = marks_in(&bytes) else { return Ok(Left::default()) };
    let areas = bytes.get(HEADER_LENGTH..).unwrap_or_default().chunks(AREA_LENGTH);
    let mut payloads: Vec<_> = areas
        .flat_map(|area| frames(area).take_while(|(header, payload)| header.matches(payload)))
        .map(|(header, payload)| (header.sequence, payload.to_vec()))
        .collect();
    payloads.sort_unstable_by_key(|(sequence, _)| *sequence);
    payloads.dedup_by_key(|(sequence, _)| *sequence);
    Ok(Left { marks, payloads })
}

/// Removes the landing of a folder, if there is one. What was left in it must be in the journal.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_file(path_in(folder)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn marks_in(header: &[u8]) -> Option<Marks> {
    let number = |at| number_at(header, at).map(u64::from_le_bytes);
    let is_landing = header.starts_with(&MAGIC);
    is_landing.then_some(Marks { landed: number(16)?, written: number(24)? })
}

fn number_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Puts `bytes` at a place that is known to be inside.
fn put(into: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = into.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn path_in(folder: &Path) -> PathBuf {
    folder.join(FILE_NAME)
}

fn map(file: &File, at: usize, length: usize) -> io::Result<MmapMut> {
    #[expect(
        unsafe_code,
        reason = "the folder's lock keeps other writers away, and nobody makes the file shorter while it is mapped"
    )]
    let map = unsafe { MmapOptions::new().offset(at as u64).len(length).map_mut(file)? };
    // A page that is kept in memory need not be read again, which could fail. Where it is not allowed, that stays unlikely.
    let _ = map.lock();
    Ok(map)
}

/// Whether pages of a file, once they are on the disk, are written to the same place for good.
#[cfg(target_os = "linux")]
fn writes_in_place(file: &File) -> bool {
    const EXT: u64 = 0xEF53;
    const XFS: u64 = 0x5846_5342;
    const TMPFS: u64 = 0x0102_1994;
    rustix::fs::fstatfs(file).is_ok_and(|system| [EXT, XFS, TMPFS].contains(&(system.f_type as u64)))
}

#[cfg(not(target_os = "linux"))]
fn writes_in_place(_file: &File) -> bool {
    false
}
