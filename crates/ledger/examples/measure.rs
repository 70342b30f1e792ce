//! Measures the ledger on this machine: `cargo run --release --example measure -- [ROWS]`.
//!
//! Prints what an append costs (one thread, four threads), the bytes each call takes on disk, how fast the index is
//! filled, and how long the questions take that an operator asks. Everything lies in a temporary folder.

#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use toolgate_ledger::journal::verify::verify;
use toolgate_ledger::redact::RedactedBody;
use toolgate_ledger::store::{Filter, GroupBy, Store};
use toolgate_ledger::{
    BodyRef, CivilDay, Era, Kind, Ledger, RecordRef, RedactionRules, Redactor, Settings, Status,
};

const APPENDS: u64 = 400_000;
const ARGUMENTS: &[u8] = br#"{"city":"Reykjavik","days":3,"units":"metric"}"#;
const RESULT: &[u8] =
    br#"{"content":[{"type":"text","text":"Rain in the morning, then rain, wind from the west"}]}"#;
const FIRST_OF_JULY_US: i64 = 1_782_864_000_000_000;
const MONTH_US: i64 = 31 * 86_400_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let rows: u64 = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    measure_redaction()?;
    for threads in [1, 4] {
        measure_appends(threads)?;
    }
    measure_questions(rows)
}

fn measure_redaction() -> Result<(), Box<dyn Error>> {
    let redactor = Redactor::new(&RedactionRules::default())?;
    let begin = Instant::now();
    let mut kept = 0;
    for _ in 0..APPENDS {
        kept += RedactedBody::new(&redactor, std::hint::black_box(ARGUMENTS)).for_record(4_096).kept.len();
        kept += RedactedBody::new(&redactor, std::hint::black_box(RESULT)).for_record(4_096).kept.len();
    }
    println!(
        "redaction of both bodies: {:.2} µs per call ({kept} bytes)",
        per_item(begin.elapsed(), APPENDS)
    );
    Ok(())
}

fn measure_appends(threads: u64) -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let ledger =
        Ledger::open(Settings { ship_interval: Duration::from_secs(3_600), ..Settings::new(place.path()) })?;
    let begin = Instant::now();
    let cpu: u64 = thread::scope(|scope| {
        let append = || {
            let before = cpu_nanoseconds();
            let groups = [Arc::from("research")];
            for count in 0..APPENDS / threads {
                if let Err(error) = ledger.append(&small_call(count, &groups)) {
                    println!("{error}");
                }
            }
            cpu_nanoseconds() - before
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(append)).collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).sum()
    });
    let elapsed = begin.elapsed();
    let health = ledger.health();
    println!(
        "{threads} threads: {:.0} appends/s, {:.2} µs CPU each, {:.0} bytes each",
        APPENDS as f64 / elapsed.as_secs_f64(),
        cpu as f64 / 1_000.0 / APPENDS as f64,
        health.bytes_written as f64 / health.appended as f64,
    );
    Ok(())
}

fn measure_questions(rows: u64) -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let ledger = Ledger::open(Settings::new(place.path()))?;
    let begin = Instant::now();
    for count in 0..rows {
        let (caller, tool) = (format!("agent-{}", count % 997), format!("weather__tool-{}", count % 61));
        // Denials are rare, and one caller has only a single one, at the very beginning.
        let status = if count % 100_003 == 5 { Status::Denied } else { Status::Ok };
        let time_us = FIRST_OF_JULY_US + (count as i64).saturating_mul(MONTH_US / rows.max(1) as i64);
        let groups = [];
        let record =
            RecordRef { time_us, caller: &caller, exposed: &tool, status, ..small_call(count, &groups) };
        ledger.append(&record)?;
    }
    ledger.catch_up()?;
    println!(
        "{rows} rows appended and indexed in {:.1?}: {:.0} rows/s",
        begin.elapsed(),
        rows as f64 / begin.elapsed().as_secs_f64()
    );
    println!(
        "on disk per call: {:.0} bytes of journal, {:.0} bytes of index",
        bytes_below(&place.path().join(ledger.replica()))? as f64 / rows as f64,
        bytes_below(place.path())? as f64 / rows as f64,
    );
    ask(&ledger.store())?;
    let begin = Instant::now();
    let found = verify(place.path())?;
    let records: u64 = found.iter().map(|found| found.records).sum();
    println!(
        "verify: {records} records in {:.1?}, damage: {:?}",
        begin.elapsed(),
        found.iter().find_map(|found| found.damage.clone())
    );
    Ok(())
}

fn ask(store: &Store) -> Result<(), Box<dyn Error>> {
    let named = |text: &str| Some(text.to_owned());
    let denied = Some(Status::Denied);
    let filters = [
        ("all", Filter::default()),
        ("caller", Filter { caller: named("agent-5"), ..Filter::default() }),
        ("caller + denied", Filter { caller: named("agent-5"), status: denied, ..Filter::default() }),
        ("caller + denied, none", Filter { caller: named("agent-7"), status: denied, ..Filter::default() }),
        ("tool + denied", Filter { tool: named("weather__tool-5"), status: denied, ..Filter::default() }),
        (
            "caller + tool",
            Filter { caller: named("agent-5"), tool: named("weather__tool-5"), ..Filter::default() },
        ),
        ("denied", Filter { status: denied, ..Filter::default() }),
        (
            "server + ok (very many series)",
            Filter { server: named("weather"), status: Some(Status::Ok), ..Filter::default() },
        ),
    ];
    for (name, filter) in filters {
        let (elapsed, page) = median(|| store.page(&filter, None, 100))?;
        println!("page of {:3} rows, {name}: {elapsed:.2?}", page.rows.len());
        let middle = Filter { until_us: Some(FIRST_OF_JULY_US + MONTH_US / 2), ..filter };
        let (elapsed, page) = median(|| store.page(&middle, None, 100))?;
        println!("page of {:3} rows, {name}, half a month back: {elapsed:.2?}", page.rows.len());
    }
    let (elapsed, sums) = median(|| store.month_of_caller("agent-5", 202607))?;
    println!("month of a caller: {elapsed:.2?} ({} calls)", sums.calls);
    let (first, last) = (CivilDay::new(2026, 7, 1), CivilDay::new(2026, 7, 31));
    let filter = Filter { caller: named("agent-5"), ..Filter::default() };
    let (elapsed, groups) = median(|| store.statistics(GroupBy::Tool, &filter, first, last))?;
    println!("a caller's month by tool: {elapsed:.2?} ({} groups)", groups.len());
    let (elapsed, groups) = median(|| store.statistics(GroupBy::Caller, &Filter::default(), first, last))?;
    println!("everybody's month by caller: {elapsed:.2?} ({} groups)", groups.len());
    Ok(())
}

fn small_call<'a>(count: u64, groups: &'a [Arc<str>]) -> RecordRef<'a> {
    RecordRef {
        time_us: FIRST_OF_JULY_US + count as i64,
        caller: "agent-17",
        groups,
        kind: Kind::ToolCall,
        server: "weather",
        exposed: "weather__forecast",
        native: "forecast",
        era: Era::Modern,
        arguments: Some(BodyRef::new(ARGUMENTS, 4_096)),
        result: Some(BodyRef::new(RESULT, 4_096)),
        status: Status::Ok,
        error_code: None,
        duration_us: 1_834,
        price_reserved: 1_000,
        price_settled: 1_000,
        trace_id: Some([7; 16]),
        policy_revision: 12,
    }
}

/// The middle one of nine runs, and the last answer.
fn median<T, E>(mut run: impl FnMut() -> Result<T, E>) -> Result<(Duration, T), E> {
    let mut times = Vec::new();
    loop {
        let begin = Instant::now();
        let answer = run()?;
        times.push(begin.elapsed());
        if times.len() == 9 {
            times.sort_unstable();
            return Ok((times[4], answer));
        }
    }
}

fn per_item(elapsed: Duration, items: u64) -> f64 {
    elapsed.as_secs_f64() * 1e6 / items as f64
}

/// The time this thread has run on a processor.
fn cpu_nanoseconds() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The bytes of the files directly in a folder.
fn bytes_below(folder: &Path) -> std::io::Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        let metadata = entry?.metadata()?;
        if metadata.is_file() {
            total += metadata.len();
        }
    }
    Ok(total)
}
