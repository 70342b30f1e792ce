//! The journal against what happens to files: torn writes, flipped bits, missing pieces, many threads.

mod links;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use tempfile::TempDir;

use super::folder::{Folder, segments};
use super::health::HealthLog;
use super::reader::SegmentReader;
use super::recover::{Finding, recover};
use super::segment::LINK_LENGTH;
use super::verify::verify_folder;
use super::walk::FolderWalk;
use super::writer::{Durability, Writer};
use super::{DamageKind, Position};
use crate::record::{BodyRef, Era, Kind, RecordRef, Status};

const SMALL_SEGMENTS: u64 = 1_000;
const ONE_SEGMENT: u64 = 1 << 30;

/// A root with one writer's folder.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("local-0")
    }

    fn open(&self, segment_bytes: u64) -> (Writer, Vec<Finding>) {
        let folder = Folder::claim(self.0.path(), "local").unwrap();
        let recovered = recover(folder.path()).unwrap();
        let findings = recovered.findings.clone();
        let health = Arc::new(HealthLog::new(Vec::new()));
        (Writer::new(folder, recovered, segment_bytes, Durability::Always, health).unwrap(), findings)
    }

    fn append(&self, segment_bytes: u64, callers: &[&str]) {
        let (writer, _) = self.open(segment_bytes);
        callers.iter().for_each(|caller| {
            writer.append(&record(caller)).unwrap();
        });
    }

    fn callers(&self) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        for (_, path) in segments(&self.folder()).unwrap() {
            let mut reader = SegmentReader::open(&path).unwrap();
            while let Ok(Some((_, record))) = reader.next_record() {
                found.push((record.sequence, record.caller));
            }
        }
        found
    }

    fn last_segment(&self) -> PathBuf {
        segments(&self.folder()).unwrap().pop().unwrap().1
    }
}

pub(super) fn record(caller: &str) -> RecordRef<'_> {
    RecordRef {
        time_us: 1,
        caller,
        groups: &[],
        kind: Kind::ToolCall,
        server: "s",
        exposed: "s__t",
        native: "t",
        era: Era::Modern,
        arguments: Some(BodyRef::new(b"{}", 10)),
        result: None,
        status: Status::Ok,
        error_code: None,
        duration_us: 5,
        price_reserved: 0,
        price_settled: 0,
        trace_id: None,
        policy_revision: 1,
    }
}

fn numbered(callers: &[&str]) -> Vec<(u64, String)> {
    (1..).zip(callers.iter().map(|caller| (*caller).to_owned())).collect()
}

#[test]
fn a_restart_goes_on_where_it_stopped() {
    let place = Place::new();
    place.append(SMALL_SEGMENTS, &["a", "b", "c"]);
    place.append(SMALL_SEGMENTS, &["d"]);
    place.append(SMALL_SEGMENTS, &["e"; 40]);
    assert_eq!(place.callers()[..4], numbered(&["a", "b", "c", "d"]));
    assert!(segments(&place.folder()).unwrap().len() > 2);
    let verification = verify_folder(&place.folder()).unwrap();
    assert_eq!(verification.damage, None);
    assert_eq!((verification.records, verification.sequences), (44, Some((1, 44))));
}

#[test]
fn two_writers_on_one_root_have_folders_of_their_own() {
    let place = Place::new();
    let (first, _) = place.open(ONE_SEGMENT);
    let (second, _) = place.open(ONE_SEGMENT);
    assert_eq!((&**first.replica(), &**second.replica()), ("local-0", "local-1"));
    drop(first);
    assert_eq!(&**place.open(ONE_SEGMENT).0.replica(), "local-0");
}

#[test]
fn many_threads_share_one_chain() {
    let place = Place::new();
    let (writer, _) = place.open(20_000);
    let mut receipts = thread::scope(|scope| {
        let append = |name: String| {
            (0..200).map(|_| writer.append(&record(&name)).unwrap().sequence).collect::<Vec<_>>()
        };
        let writer_threads: Vec<_> =
            (0..8).map(|number| scope.spawn(move || append(number.to_string()))).collect();
        writer_threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    receipts.sort_unstable();
    assert_eq!(receipts, (1..=1_600).collect::<Vec<_>>());
    let verification = verify_folder(&place.folder()).unwrap();
    assert_eq!((verification.damage, verification.records), (None, 1_600));
}

#[test]
fn queued_records_are_written_together_when_the_first_is_asked_for() {
    let place = Place::new();
    let (writer, _) = place.open(ONE_SEGMENT);
    let queued = ["a", "b", "c"].map(|caller| writer.enqueue(&record(caller)).unwrap());
    assert_eq!(place.callers(), [], "nothing is written before somebody asks for it");
    // In whichever order they ask, the order in which they came counts.
    assert_eq!(writer.write(&queued[1]).unwrap().sequence, 2);
    assert_eq!(place.callers(), numbered(&["a", "b", "c"]));
    let later = writer.enqueue(&record("d")).unwrap();
    for (sequence, queued) in (1..).zip(&queued) {
        assert_eq!(writer.write(queued).unwrap().sequence, sequence);
    }
    assert_eq!(place.callers().len(), 3, "what came later is not written by asking for what is written");
    assert_eq!(writer.write(&later).unwrap().sequence, 4);
    assert_eq!(verify_folder(&place.folder()).unwrap().damage, None);
}

#[test]
fn a_queue_that_nobody_writes_does_not_grow_without_end() {
    let place = Place::new();
    let (writer, _) = place.open(ONE_SEGMENT);
    let body = vec![b'x'; 100_000];
    let large = RecordRef { result: Some(BodyRef::new(&body, body.len())), ..record("large") };
    let queued: Vec<_> = (0..11).map(|_| writer.enqueue(&large).unwrap()).collect();
    assert_eq!(place.callers().len(), 11);
    assert_eq!(writer.write(&queued[10]).unwrap().sequence, 11);
}

#[test]
fn a_receipt_names_the_record_it_is_for() {
    let place = Place::new();
    let (writer, _) = place.open(ONE_SEGMENT);
    let writer = &writer;
    let receipts: Vec<(u64, String)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|number| {
                scope.spawn(move || {
                    let name = |count: usize| format!("{number}-{count}");
                    (0..100)
                        .map(|count| (writer.append(&record(&name(count))).unwrap().sequence, name(count)))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let mut receipts = receipts;
    receipts.sort_unstable();
    assert_eq!(place.callers(), receipts);
}

/// What is done to the last segment, and what must be left of three records after it is opened again.
#[test]
fn torn_tails_are_cut_and_nothing_else() {
    let write_length = {
        let place = Place::new();
        place.append(ONE_SEGMENT, &["a"]);
        let one = fs::metadata(place.last_segment()).unwrap().len();
        place.append(ONE_SEGMENT, &["b"]);
        (fs::metadata(place.last_segment()).unwrap().len() - one) as usize
    };
    let check = |name: &str, harm: &dyn Fn(&mut Vec<u8>), expected_callers: &[&str], expected_cut: bool| {
        let place = Place::new();
        place.append(ONE_SEGMENT, &["a", "b", "c"]);
        let path = place.last_segment();
        let mut bytes = fs::read(&path).unwrap();
        harm(&mut bytes);
        fs::write(&path, &bytes).unwrap();
        let (writer, findings) = place.open(ONE_SEGMENT);
        let cut = findings.iter().any(|finding| matches!(finding, Finding::CutTail { .. }));
        assert_eq!(cut, expected_cut, "{name}: {findings:?}");
        let sequence = writer.append(&record("next")).unwrap().sequence;
        drop(writer);
        let mut expected = numbered(expected_callers);
        expected.push((expected_callers.len() as u64 + 1, "next".to_owned()));
        assert_eq!(sequence, expected.len() as u64, "{name}");
        assert_eq!(place.callers(), expected, "{name}");
        assert_eq!(verify_folder(&place.folder()).unwrap().damage, None, "{name}");
    };
    check("nothing", &|_| {}, &["a", "b", "c"], false);
    for missing in 1..LINK_LENGTH {
        check("link cut short", &|bytes| bytes.truncate(bytes.len() - missing), &["a", "b", "c"], true);
    }
    check("link missing", &|bytes| bytes.truncate(bytes.len() - LINK_LENGTH), &["a", "b", "c"], false);
    for missing in LINK_LENGTH + 1..write_length {
        check("frame cut short", &|bytes| bytes.truncate(bytes.len() - missing), &["a", "b"], true);
    }
    check("whole write missing", &|bytes| bytes.truncate(bytes.len() - write_length), &["a", "b"], false);
    check("zeros behind", &|bytes| bytes.extend([0; 100]), &["a", "b", "c"], true);
    check(
        "garbage behind",
        &|bytes| bytes.extend(b"garbage, and more of it than a frame header is long"),
        &["a", "b", "c"],
        true,
    );
    check(
        "last payload zeroed",
        &|bytes| {
            let end = bytes.len();
            bytes[end - LINK_LENGTH - 10..].fill(0)
        },
        &["a", "b"],
        true,
    );
    check(
        "last link zeroed",
        &|bytes| {
            let end = bytes.len();
            bytes[end - 10..].fill(0)
        },
        &["a", "b", "c"],
        true,
    );
}

#[test]
fn damage_in_the_middle_is_left_alone_and_writing_goes_on() {
    let place = Place::new();
    place.append(ONE_SEGMENT, &["a", "b", "c"]);
    let path = place.last_segment();
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let (writer, findings) = place.open(ONE_SEGMENT);
    assert!(matches!(findings[..], [Finding::Damaged(_)]), "{findings:?}");
    assert!(writer.append(&record("next")).unwrap().sequence > 3);
    assert_eq!(fs::read(&path).unwrap(), bytes, "the damaged file is untouched");
    assert_eq!(segments(&place.folder()).unwrap().len(), 2);
    assert_eq!(verify_folder(&place.folder()).unwrap().damage.unwrap().segment, path);
}

#[test]
fn a_segment_without_its_header_is_begun_again() {
    for length in [0, 1, 40] {
        let place = Place::new();
        place.append(SMALL_SEGMENTS, &["a"; 12]);
        let before = place.callers();
        let (number, path) = segments(&place.folder()).unwrap().pop().unwrap();
        let header = fs::read(&path).unwrap();
        fs::write(super::folder::segment_path(&place.folder(), number + 1), &header[..length]).unwrap();
        let walk = FolderWalk::new(&place.folder(), Position::default(), None).unwrap();
        assert_eq!(
            walk.collect::<Result<Vec<_>, _>>().unwrap().len(),
            before.len(),
            "readers need not wait for the writer"
        );
        assert!(verify_folder(&place.folder()).unwrap().damage.is_some());
        let (writer, findings) = place.open(SMALL_SEGMENTS);
        assert!(matches!(findings[..], [Finding::RemovedEmptySegment { .. }]), "{findings:?}");
        assert_eq!(writer.append(&record("next")).unwrap().sequence, before.len() as u64 + 1);
        assert_eq!(verify_folder(&place.folder()).unwrap().damage, None);
    }
}

#[test]
fn every_flipped_bit_is_found() {
    let place = Place::new();
    place.append(SMALL_SEGMENTS, &["a"; 15]);
    let found = segments(&place.folder()).unwrap();
    assert!(found.len() > 1);
    for (_, path) in &found {
        let sound = fs::read(path).unwrap();
        let mut harmed = sound.clone();
        for at in 0..sound.len() {
            harmed[at] ^= 1 << (at % 8);
            fs::write(path, &harmed).unwrap();
            let damage = verify_folder(&place.folder()).unwrap().damage;
            let damage = damage.unwrap_or_else(|| panic!("byte {at} of {} not noticed", path.display()));
            assert_eq!(&damage.segment, path);
            assert!(damage.offset as usize <= at);
            harmed[at] = sound[at];
        }
        fs::write(path, &sound).unwrap();
    }
    assert_eq!(verify_folder(&place.folder()).unwrap().damage, None);
}

#[test]
fn missing_and_exchanged_segments_are_found() {
    let make = || {
        let place = Place::new();
        place.append(SMALL_SEGMENTS, &["a"; 40]);
        let paths: Vec<_> = segments(&place.folder()).unwrap().into_iter().map(|(_, path)| path).collect();
        assert!(paths.len() > 3);
        (place, paths)
    };
    let kind = |place: &Place| verify_folder(&place.folder()).unwrap().damage.map(|damage| damage.kind);
    let swap = |one: &Path, other: &Path| {
        let bytes = fs::read(one).unwrap();
        fs::copy(other, one).unwrap();
        fs::write(other, bytes).unwrap();
    };

    let (place, paths) = make();
    fs::remove_file(&paths[1]).unwrap();
    assert_eq!(kind(&place), Some(DamageKind::Missing));

    let (place, paths) = make();
    swap(&paths[1], &paths[2]);
    assert_eq!(kind(&place), Some(DamageKind::Missing));

    // The oldest segments may go: that is what retention does.
    let (place, paths) = make();
    fs::remove_file(&paths[0]).unwrap();
    assert_eq!(kind(&place), None);
}

#[test]
fn what_the_disk_did_not_confirm_is_not_trusted_again() {
    let place = Place::new();
    let (writer, _) = place.open(ONE_SEGMENT);
    for caller in ["a", "b", "c"] {
        writer.append(&record(caller)).unwrap();
    }
    let suspect = place.last_segment();
    // No disk is behind it, so it cannot be confirmed.
    let stubborn = Arc::new(fs::File::open("/dev/null").unwrap());
    writer.lock_tail().unsynced.files.push(stubborn);
    let error = writer.sync().unwrap_err().to_string();
    assert!(error.contains(suspect.to_str().unwrap()) && error.contains("a new segment is begun"), "{error}");
    writer.sync().unwrap();
    writer.append(&record("d")).unwrap();
    drop(writer);
    assert_ne!(place.last_segment(), suspect);
    assert_eq!(place.callers(), numbered(&["a", "b", "c", "d"]));
    let verification = verify_folder(&place.folder()).unwrap();
    assert_eq!((verification.records, verification.damage), (4, None), "the chain goes on over both");
}

#[test]
fn what_the_disk_must_confirm_first_is_not_promised_before() {
    let place = Place::new();
    let (writer, _) = place.open(ONE_SEGMENT);
    writer.append(&record("a")).unwrap();
    let stubborn = Arc::new(fs::File::open("/dev/null").unwrap());
    writer.lock_tail().unsynced.files.push(stubborn);
    assert!(writer.append(&record("b")).is_err(), "no receipt without the disk's word");
}
