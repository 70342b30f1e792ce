//! What a writer has accepted is in the journal once, wherever it was stopped.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use super::path_in;
use crate::journal::folder::{Folder, segments};
use crate::journal::health::HealthLog;
use crate::journal::recover::{Finding, recover};
use crate::journal::settle::settle;
use crate::journal::tests::record;
use crate::journal::verify::verify_folder;
use crate::journal::walk::FolderWalk;
use crate::journal::writer::{Durability, Writer};
use crate::record::{BodyRef, RecordRef};

const SEGMENT_BYTES: u64 = 64 << 10;

/// A writer whose records are written when somebody asks for it, since it has no thread for that.
struct Scene {
    place: TempDir,
    writer: Writer,
    health: Arc<HealthLog>,
}

impl Scene {
    fn new() -> Self {
        Self::at(TempDir::new().unwrap())
    }

    fn at(place: TempDir) -> Self {
        let folder = Folder::claim(place.path(), "local").unwrap();
        let recovered = recover(folder.path()).unwrap();
        let health = Arc::new(HealthLog::new(Vec::new()));
        let durability = Durability::Interval(Duration::from_secs(3600));
        let writer = Writer::new(folder, recovered, SEGMENT_BYTES, durability, Arc::clone(&health)).unwrap();
        Self { place, writer, health }
    }

    fn append(&self, callers: &[&str]) {
        for caller in callers {
            self.writer.append(&record(caller)).unwrap();
        }
    }

    /// The files as they are now, which is what a process leaves that is killed now.
    fn killed(&self) -> TempDir {
        let place = TempDir::new().unwrap();
        let to = folder(&place);
        fs::create_dir(&to).unwrap();
        for file in fs::read_dir(folder(&self.place)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
        place
    }
}

fn folder(place: &TempDir) -> PathBuf {
    place.path().join("local-0")
}

/// All that is in a sound journal.
fn callers(folder: &Path) -> Vec<String> {
    let found = verify_folder(folder).unwrap();
    assert_eq!(found.damage, None);
    let walk = FolderWalk::new(folder, Default::default(), None).unwrap();
    walk.map(|step| step.unwrap().1.caller).collect()
}

fn change(path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    edit(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn the_next_writer_takes_in_what_has_landed_and_no_more() {
    let scene = Scene::new();
    scene.append(&["a", "b"]);
    scene.writer.write_landed().unwrap();
    scene.append(&["c"]);
    assert_eq!(callers(&folder(&scene.place)), ["a", "b"], "that one is not in the journal yet");
    let left = scene.killed();
    let found = verify_folder(&folder(&left)).unwrap();
    assert_eq!((found.records, found.landed), (2, 1));
    let findings = recover(&folder(&left)).unwrap().findings;
    assert!(matches!(findings[..], [Finding::Landed { records: 1, .. }]), "{findings:?}");
    let again = Scene::at(left);
    assert_eq!(callers(&folder(&again.place)), ["a", "b", "c"]);
    again.append(&["d"]);
    let last = Scene::at(again.killed());
    assert_eq!(callers(&folder(&last.place)), ["a", "b", "c", "d"]);
}

#[test]
fn who_reads_settles_what_a_killed_writer_left() {
    let scene = Scene::new();
    scene.append(&["a", "b"]);
    let left = scene.killed();
    settle(left.path()).unwrap();
    assert_eq!(callers(&folder(&left)), ["a", "b"]);
    settle(left.path()).unwrap();
    assert_eq!(callers(&folder(&left)), ["a", "b"]);
}

#[test]
fn a_writer_that_had_no_time_to_note_what_it_wrote_writes_nothing_twice() {
    let scene = Scene::new();
    scene.append(&["a", "b"]);
    scene.writer.write_landed().unwrap();
    let left = scene.killed();
    change(&path_in(&folder(&left)), |landing| landing[24..32].copy_from_slice(&1u64.to_le_bytes()));
    assert_eq!(callers(&folder(&Scene::at(left).place)), ["a", "b"]);
}

#[test]
fn a_record_that_had_not_landed_is_not_taken_for_one() {
    let scene = Scene::new();
    scene.append(&["a", "b"]);
    let left = scene.killed();
    change(&path_in(&folder(&left)), |landing| {
        let b = landing.iter().rposition(|byte| *byte == b'b').unwrap();
        landing[b] = b'x';
    });
    assert_eq!(callers(&folder(&Scene::at(left).place)), ["a"]);
}

#[test]
fn what_landed_in_an_earlier_life_is_not_taken_for_what_landed_in_this_one() {
    let scene = Scene::new();
    scene.append(&["a", "b", "c"]);
    scene.writer.write_landed().unwrap();
    let left = scene.killed();
    // Somebody has thrown the journal away, so numbers begin anew.
    for (_, segment) in segments(&folder(&left)).unwrap() {
        fs::remove_file(segment).unwrap();
    }
    let again = Scene::at(left);
    again.append(&["x"]);
    assert_eq!(callers(&folder(&Scene::at(again.killed()).place)), ["x"]);
}

#[test]
fn what_has_landed_outlives_damage_to_the_journal() {
    let scene = Scene::new();
    scene.append(&["a", "b", "c"]);
    scene.writer.write_landed().unwrap();
    scene.append(&["d"]);
    let left = scene.killed();
    let (_, segment) = segments(&folder(&left)).unwrap().pop().unwrap();
    change(&segment, |bytes| bytes[200] ^= 1);
    let again = Scene::at(left);
    let (_, segment) = segments(&folder(&again.place)).unwrap().pop().unwrap();
    let mut reader = crate::journal::reader::SegmentReader::open(&segment).unwrap();
    assert_eq!(reader.next_record().unwrap().unwrap().1.caller, "d");
    assert!(reader.next_record().unwrap().is_none());
}

#[test]
fn nothing_lands_while_the_disk_does_not_confirm() {
    let scene = Scene::new();
    scene.append(&["a"]);
    scene.health.note_sync_failure("as said by the disk");
    scene.append(&["b", "c"]);
    assert_eq!(callers(&folder(&scene.place)), ["a", "b", "c"]);
    scene.health.note_synced();
    scene.append(&["d"]);
    assert_eq!(callers(&folder(&scene.place)).len(), 3);
    assert_eq!(callers(&folder(&Scene::at(scene.killed()).place)), ["a", "b", "c", "d"]);
}

/// What happens to a ledger.
#[derive(Debug, Clone)]
enum Event {
    Append { size: usize },
    Write,
    Kill,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn everything_is_there_once_and_in_order(events in prop::collection::vec(
        prop_oneof![
            8 => (0usize..40_000).prop_map(|size| Event::Append { size }),
            1 => (250_000usize..300_000).prop_map(|size| Event::Append { size }),
            2 => Just(Event::Write),
            2 => Just(Event::Kill),
        ],
        1..40,
    )) {
        let mut scene = Scene::new();
        let mut accepted = Vec::new();
        for (number, event) in events.iter().enumerate() {
            match event {
                Event::Append { size } => {
                    let caller = number.to_string();
                    let body = vec![b'x'; *size];
                    let large = RecordRef { result: Some(BodyRef::new(&body, body.len())), ..record(&caller) };
                    accepted.push(caller.clone());
                    prop_assert_eq!(scene.writer.append(&large).unwrap().sequence, accepted.len() as u64);
                }
                Event::Write => scene.writer.write_landed().unwrap(),
                Event::Kill => scene = Scene::at(scene.killed()),
            }
        }
        scene.writer.write_landed().unwrap();
        prop_assert_eq!(callers(&folder(&scene.place)), accepted);
    }
}
