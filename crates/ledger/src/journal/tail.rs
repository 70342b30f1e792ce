//! The end of the journal: the open segment, and the buffers of whoever is writing to it.
//!
//! A failed write may leave part of itself behind. Before anything else is written the file is cut back to the last
//! acknowledged frame; while that fails too, appending fails.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Position;
use super::folder::{Folder, segment_path};
use super::health::now_us;
use super::landing::Area;
use super::queue::Payloads;
use super::recover::Recovered;
use super::segment::{Chain, Frames, LINK_LENGTH, SegmentHeader, link_bytes, put_frame};
use super::sync::Unsynced;
use super::writer::Durability;
use crate::private;

/// More full segments than this do not wait for the background: the appender confirms one itself.
const MAXIMUM_UNSYNCED_SEGMENTS: usize = 4;
/// A buffer of frames that grew beyond this is given back, so that large records do not stay in memory.
const KEPT_FRAMES: usize = 512 << 10;

/// The writing end of a folder; whoever has it locked is the one writing.
#[derive(Debug)]
pub(super) struct Tail {
    next_sequence: u64,
    chain: Chain,
    /// Records that have landed and are being written, or could not be; absent where none land.
    pub(super) landed: Option<Area>,
    /// Kept to be used again.
    pub(super) queued: Payloads,
    framed: Vec<u8>,
    folder: Folder,
    segment_bytes: u64,
    next_segment: u64,
    file: Arc<File>,
    path: PathBuf,
    number: u64,
    /// The end of the last acknowledged frame.
    length: u64,
    /// Where the first frame of a segment that was begun here is.
    begins_at: u64,
    /// Whether part of a failed write may lie behind `length`.
    has_remains: bool,
    pub(super) unsynced: Unsynced,
    has_unsynced_frames: bool,
    /// How far the disk has confirmed the journal.
    synced: Position,
}

impl Tail {
    pub(super) fn open(folder: Folder, recovered: Recovered, segment_bytes: u64) -> io::Result<Self> {
        let Recovered { open_segment, mut next_segment, next_sequence, mut chain, .. } = recovered;
        let (file, path, number, length) = match open_segment {
            Some(mut open) => {
                let file = File::options().write(true).open(&open.path)?;
                if let Some(link) = open.missing_link {
                    file.write_all_at(&link_bytes(next_sequence, &link), open.length)?;
                    open.length += LINK_LENGTH as u64;
                    chain = link;
                }
                // What a killed process wrote may not have reached the disk yet.
                file.sync_data()?;
                (file, open.path, open.number, open.length)
            }
            None => {
                let number = next_segment;
                let path = segment_path(folder.path(), number);
                let (file, length, first_link) = begin(&folder, &path, number, next_sequence, chain)?;
                File::open(folder.path())?.sync_all()?;
                next_segment += 1;
                chain = first_link;
                (file, path, number, length)
            }
        };
        Ok(Self {
            next_sequence,
            chain,
            landed: None,
            queued: Payloads::default(),
            framed: Vec::new(),
            folder,
            segment_bytes,
            next_segment,
            file: Arc::new(file),
            path,
            number,
            length,
            begins_at: 0,
            has_remains: false,
            unsynced: Unsynced::default(),
            has_unsynced_frames: false,
            synced: Position { segment: number, offset: length },
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn written(&self) -> Position {
        Position { segment: self.number, offset: self.length }
    }

    pub(super) fn synced(&self) -> Position {
        self.synced
    }

    /// Takes note of how far the disk has confirmed the journal.
    pub(super) fn note_synced(&mut self, position: Position) {
        self.synced = self.synced.max(position);
    }

    /// The number of the next record.
    pub(super) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// As many of the frames at the start of `bytes` as fit into the open segment, or into a new one if that has no room
    /// for the first; at least one.
    pub(super) fn fitting<'a>(&self, bytes: &'a [u8]) -> Frames<'a> {
        let room = self.segment_bytes.saturating_sub(self.length + LINK_LENGTH as u64);
        Frames::fitting(bytes, room)
    }

    /// Gives the folder back, with the right to write in it.
    pub(super) fn into_folder(self) -> Folder {
        self.folder
    }

    /// Writes records at the end, and says how many bytes they took. On failure the journal ends where it did before.
    pub(super) fn append<'a>(
        &mut self,
        payloads: impl Iterator<Item = &'a [u8]>,
        durability: Durability,
    ) -> io::Result<u64> {
        let mut bytes = std::mem::take(&mut self.framed);
        bytes.clear();
        bytes.shrink_to(KEPT_FRAMES);
        let mut records = 0;
        for payload in payloads {
            put_frame(&mut bytes, self.next_sequence + records, payload);
            records += 1;
        }
        let appended = self.append_frames(Frames { bytes: &bytes, records }, durability);
        self.framed = bytes;
        appended
    }

    /// Writes frames at the end, which bear the next numbers, and a link behind them. Says how many bytes that took. On
    /// failure the journal ends where it did before.
    pub(super) fn append_frames(&mut self, frames: Frames<'_>, durability: Durability) -> io::Result<u64> {
        let coming = (frames.bytes.len() + LINK_LENGTH) as u64;
        self.make_ready(coming)?;
        let next_sequence = self.next_sequence + frames.records;
        let chain = self.chain.over(frames.bytes);
        self.write_out(frames.bytes, &link_bytes(next_sequence, &chain), durability)?;
        self.next_sequence = next_sequence;
        self.chain = chain;
        Ok(coming)
    }

    /// Cuts away what a failed write left, and begins a new segment if `coming` bytes would overfill this one.
    fn make_ready(&mut self, coming: u64) -> io::Result<()> {
        if self.has_remains {
            self.file.set_len(self.length)?;
            self.has_remains = false;
        }
        if self.length + coming > self.segment_bytes { self.rotate() } else { Ok(()) }
    }

    fn write_out(&mut self, frames: &[u8], link: &[u8], durability: Durability) -> io::Result<()> {
        let behind = self.length + frames.len() as u64;
        let written = self
            .file
            .write_all_at(frames, self.length)
            .and_then(|()| self.file.write_all_at(link, behind))
            .and_then(|()| match durability {
                Durability::Always => self.sync_all_segments(),
                Durability::Interval(_) => Ok(()),
            });
        match written {
            Ok(()) => {
                self.length = behind + link.len() as u64;
                match durability {
                    Durability::Always => self.note_synced(self.written()),
                    Durability::Interval(_) => self.has_unsynced_frames = true,
                }
                Ok(())
            }
            Err(error) => {
                self.has_remains = self.file.set_len(self.length).is_err();
                Err(error)
            }
        }
    }

    /// What has been written but not confirmed by the disk, for the thread that sees to it.
    pub(super) fn take_unsynced(&mut self) -> Option<Unsynced> {
        if !self.has_unsynced_frames && self.unsynced.is_empty() {
            return None;
        }
        let mut taken = std::mem::take(&mut self.unsynced);
        taken.files.push(Arc::clone(&self.file));
        taken.end = self.written();
        self.has_unsynced_frames = false;
        Some(taken)
    }

    /// Leaves behind what the disk did not confirm and goes on in a new segment. Where none can be begun, the next
    /// confirmation is asked for again.
    pub(super) fn leave_suspect(&mut self, mut suspect: Unsynced) -> io::Result<()> {
        self.has_unsynced_frames = true;
        self.unsynced.folder = self.unsynced.folder.take().or(suspect.folder.take());
        if self.length > self.begins_at && suspect.files.iter().any(|file| Arc::ptr_eq(file, &self.file)) {
            self.rotate()?;
        }
        self.unsynced.files.retain(|file| !suspect.files.iter().any(|known| Arc::ptr_eq(known, file)));
        Ok(())
    }

    fn sync_all_segments(&mut self) -> io::Result<()> {
        self.sync_full_segments()?;
        self.file.sync_data()
    }

    fn sync_full_segments(&mut self) -> io::Result<()> {
        self.unsynced.sync()?;
        self.unsynced = Unsynced::default();
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        if self.unsynced.files.len() >= MAXIMUM_UNSYNCED_SEGMENTS {
            self.sync_full_segments()?;
        }
        let path = segment_path(self.folder.path(), self.next_segment);
        let (file, length, chain) =
            begin(&self.folder, &path, self.next_segment, self.next_sequence, self.chain)?;
        self.unsynced.folder = Some(self.folder.path().to_owned());
        self.unsynced.files.push(std::mem::replace(&mut self.file, Arc::new(file)));
        self.path = path;
        self.number = self.next_segment;
        self.next_segment += 1;
        self.length = length;
        self.begins_at = length;
        self.chain = chain;
        Ok(())
    }
}

/// Begins a segment. A file that could not get its header is removed, so that the number can be tried again.
fn begin(
    folder: &Folder,
    path: &Path,
    number: u64,
    first_sequence: u64,
    previous: Chain,
) -> io::Result<(File, u64, Chain)> {
    let replica = folder.replica().to_string();
    let header = SegmentHeader { number, first_sequence, created_us: now_us(), previous, replica }.encode();
    let file = private::make_file(path)?;
    match file.write_all_at(&header, 0) {
        Ok(()) => Ok((file, header.len() as u64, Chain::of_header(&header))),
        Err(error) => {
            fs::remove_file(path)?;
            Err(error)
        }
    }
}
