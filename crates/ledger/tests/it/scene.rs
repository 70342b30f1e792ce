//! What the tests set up.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use toolgate_ledger::{BodyRef, Durability, Era, Kind, Ledger, RecordRef, Settings, Status};

/// 28 July 2026, noon, UTC.
pub(crate) const NOON_US: i64 = 1_785_240_000_000_000;
pub(crate) const DAY_US: i64 = 86_400_000_000;

/// A ledger that is quick to sync and ship, with segments of 16 KiB.
pub(crate) fn open(root: &Path) -> Ledger {
    Ledger::open(settings(root)).unwrap()
}

pub(crate) fn settings(root: &Path) -> Settings {
    Settings {
        segment_bytes: 16 << 10,
        durability: Durability::Interval(Duration::from_millis(1)),
        ship_interval: Duration::from_millis(1),
        ..Settings::new(root)
    }
}

/// A call that costs 5.
pub(crate) fn call<'a>(caller: &'a str, tool: &'a str, status: Status, time_us: i64) -> RecordRef<'a> {
    RecordRef {
        time_us,
        caller,
        groups: &[],
        kind: Kind::ToolCall,
        server: "weather",
        exposed: tool,
        native: tool,
        era: Era::Modern,
        arguments: Some(BodyRef::new(br#"{"city":"Rome"}"#, 1_000)),
        result: Some(BodyRef::new(br#"{"content":[{"type":"text","text":"sun, \"hot\""}]}"#, 1_000)),
        status,
        error_code: if status == Status::Ok { None } else { Some(-32005) },
        duration_us: 100,
        price_reserved: 5,
        price_settled: 5,
        trace_id: Some([0xAB; 16]),
        policy_revision: 3,
    }
}

/// The variable that makes a test play the other process.
pub(crate) const ROOT_VARIABLE: &str = "LEDGER_TEST_ROOT";

/// This test binary as another process that runs one test for real.
pub(crate) fn other_process(shell_prefix: Option<&str>, test: &str, root: &Path) -> Command {
    let binary = std::env::current_exe().unwrap();
    let mut command = match shell_prefix {
        Some(prefix) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{prefix}; exec \"$0\" \"$@\"")]).arg(binary);
            shell
        }
        None => Command::new(binary),
    };
    command.args([test, "--exact", "--nocapture"]).env(ROOT_VARIABLE, root);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}
