//! What the configuration says of how long records stay.

use std::path::{Path, PathBuf};

use harness::{Setup, eventually};
use tempfile::TempDir;
use toolgate_ledger::journal::folder::segments;
use toolgate_ledger::journal::verify::verify;
use toolgate_ledger::{Era, Kind, Ledger, RecordRef, Settings, Status};

/// A ledger in a folder, with many small segments. Gives the folder of its one writer.
fn fill(root: &Path) -> PathBuf {
    let ledger = Ledger::open(Settings { segment_bytes: 16 << 10, ..Settings::new(root) }).unwrap();
    let caller = "a".repeat(1_000);
    for number in 0..200 {
        let record = RecordRef {
            time_us: 1_785_240_000_000_000 + number,
            caller: &caller,
            groups: &[],
            kind: Kind::ToolCall,
            server: "s",
            exposed: "s__echo",
            native: "echo",
            era: Era::Modern,
            arguments: None,
            result: None,
            status: Status::Ok,
            error_code: None,
            duration_us: 1,
            price_reserved: 0,
            price_settled: 0,
            trace_id: None,
            policy_revision: 1,
        };
        ledger.append(&record).unwrap();
    }
    root.join(ledger.replica())
}

#[test]
fn records_go_by_age_and_by_size_as_the_file_says() {
    for (retention, is_done) in [
        ("age: 1ms", (|left| left == 1) as fn(usize) -> bool),
        // The open one and two that are full.
        ("size: 40KB", |left| left == 3),
    ] {
        let place = TempDir::new().unwrap();
        let root = place.path().join("ledger");
        let folder = fill(&root);
        let before = segments(&folder).unwrap().len();
        assert!(before > 6, "{before}");
        let config =
            format!("ledger: {{dir: \"{}\", retention: {{{retention}}}}}\nservers: {{}}\n", root.display());
        let mut gateway = Setup::new().config(&config).start();
        eventually("old segments are gone", || is_done(segments(&folder).unwrap().len()).then_some(()));
        assert!(gateway.stop().success());
        assert!(verify(&root).unwrap().iter().all(|found| found.damage.is_none()), "{retention}");
    }
}
