//! A ledger that cannot be written: no call without a record, unless the operator said so.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use harness::http::Connection;
use harness::{Client, Era, Exchange, Gateway, Setup, eventually};
use serde_json::json;

use super::records;
use crate::governance::DENIED;
use crate::governance::shop::Shop;

/// The largest file, in blocks of 512 or 1,024 bytes, whichever the shell counts.
const BLOCKS: u64 = 600;
/// More calls than fit into it.
const MANY: usize = 60;

fn start(shop: &Shop, on_failure: &str) -> Gateway {
    let config = shop.config("", &format!("ledger: {{on_failure: {on_failure}}}\n"));
    Setup::new().config(&config).largest_file(BLOCKS).start()
}

/// A call whose record is large, and the record of its refusal too: what does not fit once does not fit again.
fn call(client: &Client) -> Exchange {
    client.call("shop__vault", &json!({"item": "x".repeat(20_000)}))
}

fn lift_limit(gateway: &Gateway) {
    let lifted =
        Command::new("prlimit").args(["--pid", &gateway.id().to_string(), "--fsize=unlimited"]).status();
    assert!(lifted.unwrap().success());
}

#[test]
fn nothing_runs_while_nothing_can_be_recorded() {
    let shop = Shop::open();
    let mut gateway = start(&shop, "deny");
    let clients = Era::BOTH.map(|era| Client::new(&gateway, era));
    let answers: Vec<_> = (0..MANY).map(|turn| call(&clients[turn % 2])).collect();
    let allowed = answers.iter().take_while(|answer| answer.answer.get("result").is_some()).count();
    assert!((5..MANY - 5).contains(&allowed), "{allowed}");
    for refused in &answers[allowed..] {
        assert_eq!(refused.code(), DENIED, "{}", refused.answer);
    }
    // The first call without a record ran, because it was not known before; its answer was withheld. No other did.
    assert_eq!(shop.orders("vault"), allowed + 1);
    assert!(answers[allowed].error().contains("withheld"), "{}", answers[allowed].error());
    let data = &answers[allowed].answer["error"]["data"];
    assert_eq!(
        (&data["details"]["stage"], &data["retryable"]),
        (&json!("record"), &json!(false)),
        "it has run"
    );
    let data = &answers[allowed + 1].answer["error"]["data"];
    assert_eq!((&data["details"]["stage"], &data["retryable"]), (&json!("record"), &json!(true)));
    gateway.log().until("\"alert\":\"ledger\"");

    lift_limit(&gateway);
    eventually("calls are recorded again", || call(&clients[0]).answer.get("result").map(|_| ()));
    let ran = shop.orders("vault");
    assert!(gateway.stop().success());
    let recorded = records(&gateway).iter().filter(|record| record.status.as_str() == "ok").count();
    assert_eq!(recorded, ran - 1, "all but the one that was withheld");
}

#[test]
fn a_refusal_that_cannot_be_recorded_says_that_nothing_has_run() {
    let shop = Shop::open();
    let rules = "policy: {rules: [{effect: deny, tools: [vault]}]}\n";
    let gateway = Setup::new().config(&shop.config("", rules)).largest_file(BLOCKS).start();
    let client = Client::modern(&gateway);
    let unrecorded = (0..MANY).map(|_| call(&client)).find(|refused| {
        assert_eq!(refused.code(), DENIED, "{}", refused.answer);
        refused.answer["error"]["data"]["details"]["stage"] == "record"
    });
    let unrecorded = unrecorded.expect("the file is full");
    assert_eq!(unrecorded.answer["error"]["data"]["retryable"], true, "{}", unrecorded.answer);
    assert!(!unrecorded.error().contains("withheld"), "{}", unrecorded.error());
    assert_eq!(shop.orders("vault"), 0);
}

#[test]
fn what_is_hidden_stays_unknown_while_nothing_can_be_recorded() {
    let shop = Shop::open();
    let sections = "ledger: {on_failure: deny}\npolicy: {rules: [{effect: hide, tools: [count]}]}\n";
    let gateway = Setup::new().config(&shop.config("", sections)).largest_file(BLOCKS).start();
    let client = Client::modern(&gateway);
    let large = json!({"item": "x".repeat(20_000)});
    let refused = (0..MANY).map(|_| call(&client)).filter(|answer| answer.answer.get("error").is_some());
    assert!(refused.take(2).count() == 2, "the ledger is full");
    let told = |name: &str| client.call(name, &large).raw.replace(name, "NAME");
    let without_id = |answer: String| answer.split_once("\"error\"").unwrap().1.to_owned();
    let (hidden, missing) = (without_id(told("shop__count")), without_id(told("shop__dream")));
    assert_eq!(hidden, missing);
    assert!(hidden.contains("-32602"), "{hidden}");
    assert_eq!(call(&client).code(), DENIED);
}

#[test]
fn answers_that_wait_for_the_same_write_are_withheld_together() {
    let shop = Shop::open();
    let mut gateway = start(&shop, "deny");
    let answered = AtomicUsize::new(0);
    thread::scope(|scope| {
        for era in [Era::BOTH; 4].into_iter().flatten() {
            let client = Client::new(&gateway, era);
            let answered = &answered;
            scope.spawn(move || {
                for _ in 0..MANY / 4 {
                    if call(&client).answer.get("result").is_some() {
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert!(gateway.stop().success());
    let recorded = records(&gateway).iter().filter(|record| record.status.as_str() == "ok").count();
    assert!((5..MANY).contains(&recorded), "{recorded}");
    assert_eq!(answered.into_inner(), recorded, "each that was answered, and no other");
}

#[test]
fn calls_go_on_without_a_record_where_the_operator_says_so() {
    let shop = Shop::open();
    let mut gateway = start(&shop, "continue");
    let client = Client::modern(&gateway);
    for _ in 0..MANY {
        call(&client).result();
    }
    gateway.log().until("\"alert\":\"ledger\"");
    assert!(gateway.stop().success());
    assert_eq!(shop.orders("vault"), MANY);
    assert!((5..MANY).contains(&records(&gateway).len()));
}

#[test]
fn a_gateway_whose_ledger_cannot_be_opened_does_not_start() {
    let shop = Shop::open();
    let place = tempfile::TempDir::new().unwrap();
    let file = place.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let mut stdio = Setup::new()
        .config(&shop.config("", &format!("ledger: {{dir: \"{}/ledger\"}}\n", file.display())))
        .start_stdio();
    assert!(!stdio.gateway.wait().success());
    stdio.gateway.log().until("cannot open the ledger");
}

#[test]
fn an_index_that_cannot_be_filled_raises_an_alarm() {
    let shop = Shop::open();
    let hook = TcpListener::bind("127.0.0.1:0").unwrap();
    let webhook = format!("http://{}/alert", hook.local_addr().unwrap());
    let mut gateway =
        Setup::new().config(&shop.config("", &format!("ledger: {{alert_webhook: \"{webhook}\"}}\n"))).start();
    let health = || Connection::open(gateway.address()).exchange("GET", "/health", &[], b"").json();
    assert_eq!(health()["ledger"]["status"], "ok");
    let store = toolgate_ledger::store::Store::open(&super::folder(&gateway)).unwrap();
    store.connect().unwrap().execute_batch("ALTER TABLE replica RENAME TO taken_away").unwrap();
    let client = Client::modern(&gateway);
    client.call("shop__vault", &json!({})).result();
    gateway.log().until("the index of the ledger cannot be filled");
    let report = health();
    assert_eq!((&report["status"], &report["ledger"]["indexed"]), (&json!("degraded"), &json!(false)));
    let posted = read_request(&hook);
    assert!(posted.contains("POST /alert") && posted.contains("\"kind\":\"ledger\""), "{posted}");

    // Calls are in the journal and go on; the index is filled when that can be done again.
    client.call("shop__vault", &json!({})).result();
    store.connect().unwrap().execute_batch("ALTER TABLE taken_away RENAME TO replica").unwrap();
    eventually("the ledger is well again", || (health()["ledger"]["status"] == "ok").then_some(()));
    assert!(gateway.stop().success());
    assert_eq!(store.page(&toolgate_ledger::store::Filter::default(), None, 10).unwrap().rows.len(), 2);
}

/// The first request that arrives, up to the end of its JSON.
fn read_request(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = String::new();
    while !request.ends_with('}') {
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).unwrap();
        assert!(length > 0, "it broke off: {request}");
        request.push_str(std::str::from_utf8(&piece[..length]).unwrap());
    }
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    request
}
