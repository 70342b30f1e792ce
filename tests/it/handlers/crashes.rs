//! A worker that crashes while all have much to do.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;

use harness::{Client, Era, Exchange, eventually};
use serde_json::json;

use super::{EXECUTION_ERROR, Over, Workshop};

/// How many clients call all the time, and how many crashes there are meanwhile.
const CLIENTS: usize = 6;
const CRASHES: usize = 5;

const TOOLS: &str = r#"
import asyncio, os, sys
from toolgate import handler

TALLY = os.open(os.environ["TALLY"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)

@handler
async def work(token: str) -> str:
    """Write down who works on what."""
    os.write(TALLY, f"{os.getpid()} {token}\n".encode())
    await asyncio.sleep(0.01)
    return token

@handler
def crash() -> int:
    """End the process."""
    os.write(TALLY, f"{os.getpid()} crash\n".encode())
    print("these are my last words", file=sys.stderr, flush=True)
    os._exit(9)
"#;

/// Works until told otherwise; what failed, by its token.
fn work(client: &Client, number: usize, over: &Over) -> (usize, BTreeMap<String, Exchange>) {
    let mut failed = BTreeMap::new();
    let mut count = 0;
    while !over.is_now() {
        count += 1;
        let token = format!("{number}-{count}");
        let exchange = client.call("w__work", &json!({"token": token}));
        if exchange.answer.get("result").is_some() {
            assert_eq!(exchange.text(), token);
        } else {
            failed.insert(token, exchange);
        }
    }
    (count, failed)
}

#[test]
fn only_the_calls_of_the_dead_worker_fail_and_say_why() {
    let workshop = Workshop::with(TOOLS);
    let tally = workshop.path("tally");
    let gateway = workshop.open(&format!("processes: 3, env: {{TALLY: \"{}\"}}", tally.display()));
    let clients: Vec<_> = (0..CLIENTS).map(|number| Client::new(&gateway, Era::BOTH[number % 2])).collect();
    let over = Over::default();
    let outcomes: Vec<_> = thread::scope(|scope| {
        let over = &over;
        let _over = over.at_the_end();
        let working: Vec<_> = clients
            .iter()
            .enumerate()
            .map(|(number, client)| scope.spawn(move || work(client, number, over)))
            .collect();
        let crasher = Client::modern(&gateway);
        for _ in 0..CRASHES {
            let before = lines(&tally);
            eventually("all work", || (lines(&tally) > before + 20 * CLIENTS).then_some(()));
            let crashed = crasher.call("w__crash", &json!({}));
            assert_says_why(&crashed);
        }
        over.now();
        working.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let calls: usize = outcomes.iter().map(|(count, _)| count).sum();
    assert!(calls > 100, "only {calls} calls under {CRASHES} crashes");
    let text = fs::read_to_string(&tally).unwrap();
    let done: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let dead: Vec<_> =
        done.iter().filter(|(_, token)| *token == "crash").map(|(worker, _)| *worker).collect();
    assert_eq!(dead.len(), CRASHES);
    for (token, exchange) in outcomes.iter().flat_map(|(_, failed)| failed) {
        assert_says_why(exchange);
        // One that the dead worker had not begun yet is not in the tally.
        let worker = done.iter().find(|(_, done)| done == token).map(|(worker, _)| *worker);
        assert!(
            worker.is_none_or(|worker| dead.contains(&worker)),
            "{token} failed in {worker:?}, which lives"
        );
    }
    eventually("all are there again", || (super::health(&gateway)["cause"].is_null()).then_some(()));
}

fn lines(tally: &Path) -> usize {
    fs::read_to_string(tally).map_or(0, |text| text.lines().count())
}

fn assert_says_why(exchange: &Exchange) {
    assert_eq!(exchange.code(), EXECUTION_ERROR, "{}", exchange.answer);
    let error = exchange.error();
    assert!(error.contains("status 9") && error.contains("these are my last words"), "{error}");
}
