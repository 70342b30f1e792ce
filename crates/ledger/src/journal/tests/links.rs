//! The journal against those who change it and make the checksums match.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ONE_SEGMENT, Place, SMALL_SEGMENTS, record};
use crate::journal::DamageKind;
use crate::journal::folder::segments;
use crate::journal::reader::SegmentReader;
use crate::journal::segment::{FRAME_HEADER_LENGTH, FrameHeader, LINK_LENGTH};
use crate::journal::verify::verify_folder;

/// Writes records together and gives the file and where their frames are.
fn written_together(place: &Place, callers: &[&str]) -> (PathBuf, Vec<usize>) {
    let (writer, _) = place.open(ONE_SEGMENT);
    let queued: Vec<_> = callers.iter().map(|caller| writer.enqueue(&record(caller)).unwrap()).collect();
    writer.write(&queued[0]).unwrap();
    let path = place.last_segment();
    let mut reader = SegmentReader::open(&path).unwrap();
    let mut offsets = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        offsets.push(frame.offset as usize);
    }
    (path, offsets)
}

#[test]
fn a_change_that_its_checksum_hides_is_found_by_the_link() {
    let place = Place::new();
    written_together(&place, &["a", "b"]);
    let (path, offsets) = written_together(&place, &["c", "d", "e"]);
    let sound = fs::read(&path).unwrap();
    for (number, offset) in offsets.iter().enumerate() {
        let mut bytes = sound.clone();
        let header = FrameHeader::decode(bytes[*offset..].first_chunk().unwrap());
        let body = *offset + FRAME_HEADER_LENGTH..*offset + FRAME_HEADER_LENGTH + header.body_length();
        let at = bytes[body.clone()].iter().position(|byte| (b'a'..=b'e').contains(byte)).unwrap();
        bytes[body.start + at] = b'x';
        let hidden = FrameHeader::of_record(header.sequence, &bytes[body]).encode();
        bytes[*offset..*offset + FRAME_HEADER_LENGTH].copy_from_slice(&hidden);
        fs::write(&path, &bytes).unwrap();
        let damage = verify_folder(&place.folder()).unwrap().damage.unwrap();
        // What was written together is told apart by nothing but the checksums.
        let first = if number < 2 { 0 } else { 2 };
        assert_eq!((damage.kind, damage.offset), (DamageKind::Chain, offsets[first] as u64));
        assert_eq!(damage.sequence, first as u64 + 1);
    }
}

#[test]
fn a_record_or_a_link_that_was_taken_out_is_found() {
    let place = Place::new();
    let (path, offsets) = written_together(&place, &["a", "b", "c"]);
    written_together(&place, &["d"]);
    let sound = fs::read(&path).unwrap();
    let link = offsets[2] + (offsets[2] - offsets[1]);
    for (removed, kind) in
        [(offsets[1]..offsets[2], DamageKind::Sequence), (link..link + LINK_LENGTH, DamageKind::Chain)]
    {
        let mut bytes = sound.clone();
        bytes.drain(removed);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(verify_folder(&place.folder()).unwrap().damage.map(|damage| damage.kind), Some(kind));
    }
}

#[test]
fn frames_without_a_link_are_in_order_only_at_the_end_of_the_journal() {
    let place = Place::new();
    place.append(SMALL_SEGMENTS, &["a"; 40]);
    let found = segments(&place.folder()).unwrap();
    let without_link = |path: &Path| {
        let sound = fs::read(path).unwrap();
        fs::write(path, &sound[..sound.len() - LINK_LENGTH]).unwrap();
        let damage = verify_folder(&place.folder()).unwrap().damage;
        fs::write(path, sound).unwrap();
        damage.map(|damage| damage.kind)
    };
    assert_eq!(without_link(&found[0].1), Some(DamageKind::Chain));
    assert_eq!(without_link(&place.last_segment()), None);
}
