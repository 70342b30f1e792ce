//! Reading frames back, one by one, believing nothing that is not checked.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::segment_path;
use super::segment::{
    Chain, FRAME_HEADER_LENGTH, FrameHeader, MAXIMUM_HEADER_LENGTH, SegmentHeader, UnfinishedLink,
};
use super::window::Window;
use super::{Damage, DamageKind, Position, ReadError};
use crate::record::{Record, RecordView};

/// A sound frame.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Where it begins.
    pub offset: u64,
    /// Its number.
    pub sequence: u64,
    /// The encoded record.
    pub payload: &'a [u8],
}

/// Reads one segment from front to back.
#[derive(Debug)]
pub struct SegmentReader {
    path: PathBuf,
    header: SegmentHeader,
    replica: Arc<str>,
    window: Window,
    offset: u64,
    end: u64,
    next_sequence: Option<u64>,
    /// Absent where it is not checked, and after a jump, since a link only follows from all before it.
    chain: Option<Unclosed>,
}

/// What stands behind a link, up to the next one.
#[derive(Debug)]
struct Unclosed {
    link: Chain,
    frames: UnfinishedLink,
    offset: u64,
    sequence: u64,
}

impl Unclosed {
    fn behind(link: Chain, offset: u64, sequence: u64) -> Self {
        Self { link, frames: link.closing(), offset, sequence }
    }
}

impl SegmentReader {
    /// Opens a segment and reads its header.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let mut file = File::open(path).map_err(ReadError::io(path))?;
        let end = file.metadata().map_err(ReadError::io(path))?.len();
        let mut head = Vec::with_capacity(MAXIMUM_HEADER_LENGTH);
        (&mut file).take(MAXIMUM_HEADER_LENGTH as u64).read_to_end(&mut head).map_err(ReadError::io(path))?;
        let Some((header, length)) = SegmentHeader::decode(&head) else {
            let kind =
                if SegmentHeader::is_unfinished(&head) { DamageKind::Unfinished } else { DamageKind::Header };
            return Err(Damage { segment: path.to_owned(), offset: 0, sequence: 0, kind }.into());
        };
        file.seek(SeekFrom::Start(length as u64)).map_err(ReadError::io(path))?;
        let first_link = Chain::of_header(head.get(..length).unwrap_or_default());
        Ok(Self {
            path: path.to_owned(),
            replica: Arc::from(header.replica.as_str()),
            window: Window::new(file),
            offset: length as u64,
            end,
            next_sequence: Some(header.first_sequence),
            chain: Some(Unclosed::behind(first_link, length as u64, header.first_sequence)),
            header,
        })
    }

    /// What the segment says about itself.
    pub fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// The file being read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The writer of the segment.
    pub(crate) fn replica(&self) -> &Arc<str> {
        &self.replica
    }

    /// Where the next frame begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The number the next frame must have, if that is known.
    pub fn next_sequence(&self) -> Option<u64> {
        self.next_sequence
    }

    /// The last link read, if all frames were read.
    pub fn chain(&self) -> Option<Chain> {
        self.chain.as_ref().map(|unclosed| unclosed.link)
    }

    /// The link that belongs behind the frames read since the last one, if there are any.
    pub(crate) fn missing_link(&self) -> Option<Chain> {
        self.unclosed().map(|unclosed| unclosed.frames.link())
    }

    /// Frames read since the last link, as the damage that they are where more segments follow.
    pub(crate) fn without_link(&self) -> Option<Damage> {
        self.unclosed().map(|unclosed| self.broken_chain(unclosed.offset, unclosed.sequence))
    }

    fn unclosed(&self) -> Option<&Unclosed> {
        self.chain.as_ref().filter(|unclosed| !unclosed.frames.is_empty())
    }

    /// Checks each frame by itself from here on. That nothing was put in or taken out is for `verify` to find: who wants the
    /// records need not hash them all again.
    pub(crate) fn leave_chain_unchecked(&mut self) {
        self.chain = None;
    }

    /// Reads nothing at or behind `end`, where a writer may be at work.
    pub fn limit(&mut self, end: u64) {
        self.end = self.end.min(end);
    }

    /// Goes on at `offset`, which must be the start of a frame. The hash chain is not checked from here.
    pub fn jump(&mut self, offset: u64) -> Result<(), ReadError> {
        if offset > self.offset {
            self.window.jump(offset).map_err(ReadError::io(&self.path))?;
            self.offset = offset;
            self.next_sequence = None;
            self.chain = None;
        }
        Ok(())
    }

    /// The next frame of a record, or nothing at the end. After an error the reader stays where it is.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, ReadError> {
        loop {
            let Some(header) = self.check_next()? else { return Ok(None) };
            let offset = self.offset;
            let length = FRAME_HEADER_LENGTH + header.body_length();
            self.window.pass(length);
            self.offset += length as u64;
            if !header.is_link() {
                self.next_sequence = Some(header.sequence.wrapping_add(1));
                let payload = self.window.passed(header.body_length());
                return Ok(Some(Frame { offset, sequence: header.sequence, payload }));
            }
        }
    }

    /// Checks all about the next frame or link.
    fn check_next(&mut self) -> Result<Option<FrameHeader>, ReadError> {
        if self.offset >= self.end {
            return Ok(None);
        }
        let left = self.end - self.offset;
        if left < FRAME_HEADER_LENGTH as u64 {
            return Err(self.damage(DamageKind::Unfinished));
        }
        let header = match self.window.next(FRAME_HEADER_LENGTH).map(<[u8]>::first_chunk) {
            Ok(head) => FrameHeader::decode(head.unwrap_or(&[0; FRAME_HEADER_LENGTH])),
            Err(error) => return Err(self.unreadable(error)),
        };
        if !header.has_possible_length() {
            return Err(self.damage(DamageKind::Length));
        }
        let length = FRAME_HEADER_LENGTH + header.body_length();
        if left < length as u64 {
            return Err(self.damage(DamageKind::Unfinished));
        }
        let frame = match self.window.next(length) {
            Ok(frame) => frame,
            Err(error) => return Err(self.unreadable(error)),
        };
        let body = frame.get(FRAME_HEADER_LENGTH..).unwrap_or_default();
        if !header.matches(body) {
            return Err(self.damage(DamageKind::Checksum));
        }
        if self.next_sequence.is_some_and(|expected| expected != header.sequence) {
            return Err(self.damage(DamageKind::Sequence));
        }
        match &mut self.chain {
            Some(unclosed) if header.is_link() => {
                let link = unclosed.frames.link();
                if link.bytes() != body {
                    let (offset, sequence) = (unclosed.offset, unclosed.sequence);
                    return Err(self.broken_chain(offset, sequence).into());
                }
                *unclosed = Unclosed::behind(link, self.offset + length as u64, header.sequence);
            }
            Some(unclosed) => unclosed.frames.add(frame),
            None => {}
        }
        Ok(Some(header))
    }

    /// The next record with its offset, or nothing at the end.
    pub fn next_record(&mut self) -> Result<Option<(u64, Record)>, ReadError> {
        let replica = Arc::clone(&self.replica);
        let to_record = |frame: &Frame<'_>, record: &RecordView<'_>| {
            (frame.offset, record.to_record(replica, frame.sequence))
        };
        self.next_with(to_record)
    }

    /// What `read` makes of the next record and the frame around it, or nothing at the end.
    pub(crate) fn next_with<T>(
        &mut self,
        read: impl FnOnce(&Frame<'_>, &RecordView<'_>) -> T,
    ) -> Result<Option<T>, ReadError> {
        let Some(frame) = self.next_frame()? else { return Ok(None) };
        match RecordView::decode(frame.payload) {
            Ok(record) => Ok(Some(read(&frame, &record))),
            Err(_) => {
                let Frame { offset, sequence, .. } = frame;
                Err(Damage { segment: self.path.clone(), offset, sequence, kind: DamageKind::Record }.into())
            }
        }
    }

    fn unreadable(&self, error: io::Error) -> ReadError {
        match error.kind() {
            // The file became shorter under our hands.
            ErrorKind::UnexpectedEof => self.damage(DamageKind::Unfinished),
            _ => ReadError::Io { path: self.path.clone(), source: error },
        }
    }

    fn broken_chain(&self, offset: u64, sequence: u64) -> Damage {
        Damage { segment: self.path.clone(), offset, sequence, kind: DamageKind::Chain }
    }

    fn damage(&self, kind: DamageKind) -> ReadError {
        let sequence = self.next_sequence.unwrap_or_default();
        Damage { segment: self.path.clone(), offset: self.offset, sequence, kind }.into()
    }
}

/// Reads single records by where they are, as the index names them.
#[derive(Debug, Clone)]
pub struct Reader {
    root: PathBuf,
}

impl Reader {
    /// Reads below the given root of a ledger.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The record of `replica` at `position`, or nothing if retention has removed it.
    pub fn read(&self, replica: &str, position: Position) -> Result<Option<Record>, ReadError> {
        let path = segment_path(&self.root.join(replica), position.segment);
        let mut segment = match SegmentReader::open(&path) {
            Err(ReadError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        segment.jump(position.offset)?;
        Ok(segment.next_record()?.map(|(_, record)| record))
    }
}
