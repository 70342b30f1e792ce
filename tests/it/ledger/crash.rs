//! A gateway that is killed under load, again and again: what a client was told is on record, once.

use std::collections::HashMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use harness::client::MODERN;
use harness::http::Connection;
use harness::{Era, Gateway, Setup, eventually};
use serde_json::{Value, json};
use toolgate_ledger::Status;
use toolgate_ledger::journal::verify::verify;

use super::{folder, json, records};
use crate::governance::shop::Shop;
use crate::governance::{caller, restarted};

/// How often the gateway is killed, where `TOOLGATE_KILL_ROUNDS` does not say otherwise.
const ROUNDS: usize = 100;
const CLIENTS: usize = 6;
/// How many bytes of each segment are changed, to see whether that is found.
const FLIPS: usize = 40;
/// A round ends at a random moment up to this after its first answer.
const LONGEST_MICROS: u64 = 80_000;

#[test]
fn every_answer_is_on_record_after_a_kill() {
    let shop = Shop::open();
    let config = shop.config(
        "",
        "callers: {trust_client_id_header: true}\nprices: {tools: [{tools: [buy], price: 1}]}\n\
         quotas: [{id: purse, per: all, budget_per_month: 100000000}]\n",
    );
    let answered = Mutex::new(Vec::new());
    let mut gateway = Setup::new().config(&config).start();
    let rounds = std::env::var("TOOLGATE_KILL_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    for round in 0..rounds {
        let before = answered.lock().unwrap().len();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (address, answered, over) = (gateway.address().to_owned(), &answered, &over);
                scope.spawn(move || load(&address, &format!("{round}-{client}"), answered, over));
            }
            eventually("the first answer", || (answered.lock().unwrap().len() > before).then_some(()));
            let moment = Duration::from_micros(RandomState::new().hash_one(round) % LONGEST_MICROS);
            wait_busily(moment);
            gateway.kill();
            over.store(true, Ordering::Release);
        });
        gateway = restarted(gateway, &config);
    }
    let answered = answered.into_inner().unwrap();
    assert!(answered.len() >= rounds * 2, "only {} answers", answered.len());
    check(&mut gateway, &answered);
    every_flipped_byte_is_found(&gateway);
}

/// Every item that a client was told to be sold is in the ledger once, and the counters agree with the ledger.
fn check(gateway: &mut Gateway, answered: &[String]) {
    let used = || {
        let bought = caller(gateway, Era::Legacy, "last").call("shop__buy", &json!({"item": "last"}));
        bought.result()["_meta"]["io.toolgate/quota"][0]["used"].as_u64().unwrap() / 1_000_000
    };
    let used = used();
    assert!(gateway.stop().success());
    let records = records(gateway);
    let mut written: HashMap<String, usize> = HashMap::new();
    for record in &records {
        let item = json(record.arguments.as_ref())["item"].as_str().unwrap().to_owned();
        *written.entry(item).or_default() += usize::from(record.status == Status::Ok);
    }
    for item in answered {
        assert_eq!(written.get(item), Some(&1), "{item}");
    }
    assert!(written.values().all(|times| *times <= 1), "something is on record twice");
    let settled: u64 = records.iter().map(|record| record.price_settled).sum();
    assert_eq!(used, settled / 1_000_000, "the budget agrees with the ledger");
}

/// Changes single bytes all over the journal, one at a time.
fn every_flipped_byte_is_found(gateway: &Gateway) {
    let is_sound = || verify(&folder(gateway)).unwrap().iter().all(|found| found.damage.is_none());
    assert!(is_sound());
    let random = RandomState::new();
    for path in segments(gateway) {
        let sound = fs::read(&path).unwrap();
        for turn in 0..FLIPS {
            let place = usize::try_from(random.hash_one((&path, turn)) % sound.len() as u64).unwrap();
            let mut changed = sound.clone();
            changed[place] ^= 1 << (turn % 8);
            fs::write(&path, changed).unwrap();
            assert!(!is_sound(), "byte {place} of {}", path.display());
        }
        fs::write(&path, sound).unwrap();
    }
}

fn segments(gateway: &Gateway) -> Vec<PathBuf> {
    let writers = fs::read_dir(folder(gateway)).unwrap().map(|entry| entry.unwrap().path());
    let files = writers.filter(|path| path.is_dir()).flat_map(|writer| fs::read_dir(writer).unwrap());
    let mut found: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "journal"));
    found
}

/// Buys one thing after the other on one connection, until it breaks.
fn load(address: &str, client: &str, answered: &Mutex<Vec<String>>, over: &AtomicBool) {
    let mut connection = Connection::open(address);
    for number in 0.. {
        let item = format!("{client}-{number}");
        match buy(&mut connection, &item) {
            Some(answer) => {
                assert_eq!(answer["result"]["content"][0]["text"], format!("sold \"{item}\""), "{answer}");
                answered.lock().unwrap().push(item);
            }
            // Nothing but the kill ends a connection.
            None => return eventually("the kill", || over.load(Ordering::Acquire).then_some(())),
        }
    }
}

/// The whole answer, or nothing where it did not come.
fn buy(connection: &mut Connection, item: &str) -> Option<Value> {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": MODERN,
                      "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": "shop__buy", "arguments": {"item": item}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let headers = [
        ("content-type", "application/json"),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", "shop__buy"),
    ];
    connection.send("POST", "/mcp", &headers, body.as_bytes()).ok()?;
    connection.head().ok()?;
    serde_json::from_slice(&connection.rest().ok()?).ok()
}

/// The moment of the kill is what is random; a sleep would be rounded.
fn wait_busily(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        thread::yield_now();
    }
}
