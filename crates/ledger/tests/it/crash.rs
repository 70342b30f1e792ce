//! A process that is killed in the middle of everything loses nothing it has acknowledged.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write, stdout};
use std::path::Path;
use std::thread;

use tempfile::TempDir;
use toolgate_ledger::journal::verify::verify;
use toolgate_ledger::replay::Replay;
use toolgate_ledger::{CivilDay, Status};

use crate::scene::{NOON_US, ROOT_VARIABLE, call, open, other_process};

const ROUNDS: usize = 20;

/// The other process: four threads append and print each receipt, until killed.
#[test]
fn child_appends_until_killed() {
    let Ok(root) = std::env::var(ROOT_VARIABLE) else { return };
    let ledger = open(Path::new(&root));
    thread::scope(|scope| {
        for number in 0..4 {
            let ledger = &ledger;
            scope.spawn(move || {
                for count in 0u64.. {
                    let caller = format!("{}-{number}-{count}", std::process::id());
                    let receipt = ledger.append(&call(&caller, "forecast", Status::Ok, NOON_US)).unwrap();
                    let line = format!("receipt {} {caller}\n", receipt.sequence);
                    if stdout().lock().write_all(line.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

#[test]
fn nothing_acknowledged_is_lost_when_killed() {
    let place = TempDir::new().unwrap();
    let root = place.path();
    let mut acknowledged: HashMap<u64, String> = HashMap::new();
    for round in 0..ROUNDS {
        let lines_before_the_kill = 1 + (round * 7_919) % 900;
        for (sequence, caller) in receipts_until_killed(root, lines_before_the_kill) {
            assert_eq!(acknowledged.insert(sequence, caller), None, "a number was given out twice");
        }
        let mut found: HashMap<u64, String> = HashMap::new();
        for record in Replay::since(root, 0).unwrap() {
            let record = record.unwrap();
            assert_eq!(found.insert(record.sequence, record.caller), None, "a number stands there twice");
        }
        for (sequence, caller) in &acknowledged {
            assert_eq!(found.get(sequence), Some(caller), "round {round}");
        }
    }

    let ledger = open(root);
    let before_shipping = ledger.month_totals(202607).unwrap();
    ledger.catch_up().unwrap();
    let verifications = verify(root).unwrap();
    assert_eq!(verifications.len(), 1);
    assert_eq!(verifications[0].damage, None);
    let records = verifications[0].records;
    assert!(records >= acknowledged.len() as u64);

    let day = CivilDay::new(2026, 7, 28);
    let by_day = ledger
        .store()
        .statistics(toolgate_ledger::store::GroupBy::Day, &Default::default(), day, day)
        .unwrap();
    assert_eq!(by_day[0].sums.calls, records, "each record is counted once");
    assert_eq!(by_day[0].sums.price_settled, records * 5);
    let spent = |totals: &[(String, toolgate_ledger::store::Sums)]| {
        totals.iter().map(|(_, sums)| sums.price_settled).sum::<u64>()
    };
    assert_eq!(spent(&before_shipping), records * 5, "the journal's tail counts before it is in the index");
    assert_eq!(spent(&ledger.month_totals(202607).unwrap()), records * 5);
}

fn receipts_until_killed(root: &Path, lines_before_the_kill: usize) -> Vec<(u64, String)> {
    let mut child = other_process(None, "crash::child_appends_until_killed", root).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    for _ in 0..lines_before_the_kill {
        output.read_line(&mut text).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    output.read_to_string(&mut text).unwrap();
    // A line without its end was not received whole.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let parse = |line: &str| {
        let (sequence, caller) = line.strip_prefix("receipt ")?.split_once(' ')?;
        Some((sequence.parse().unwrap(), caller.to_owned()))
    };
    whole.lines().filter_map(parse).collect()
}
