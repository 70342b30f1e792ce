//! Counters go on where they were, whichever way the gateway ended.

use harness::{Era, Setup, eventually};
use serde_json::json;

use super::shop::Shop;
use super::{caller, details, restarted};

#[test]
fn counters_survive_a_restart_and_a_kill() {
    let shop = Shop::open();
    let config = shop.config(
        "",
        "callers: {trust_client_id_header: true}\nprices: {tools: [{tools: [buy], price: 1}]}\n\
         quotas: [{id: purse, budget_per_month: 6, calls_per_day: 100}]\n",
    );
    let mut gateway = Setup::new().config(&config).start();
    for (used, kills) in [(2, false), (4, true), (6, true)] {
        for expected in [used - 1, used] {
            let bought = caller(&gateway, Era::Modern, "anna").call("shop__buy", &json!({"item": used}));
            let quotas = &bought.result()["_meta"]["io.toolgate/quota"];
            assert_eq!(quotas[0]["used"], expected * 1_000_000, "{quotas}");
            assert_eq!(quotas[1]["used"], expected, "{quotas}");
        }
        if kills {
            gateway.kill()
        } else {
            assert!(gateway.stop().success())
        }
        gateway = restarted(gateway, &config);
    }
    let refused = caller(&gateway, Era::Legacy, "anna").call("shop__buy", &json!({"item": 7}));
    assert_eq!(
        (&details(&refused)["rule"], &details(&refused)["used"]),
        (&json!("purse"), &json!(6_000_000))
    );
    caller(&gateway, Era::Legacy, "ben").call("shop__buy", &json!({"item": 8})).result();
}

#[test]
fn a_call_that_a_kill_cut_off_costs_nothing() {
    let shop = Shop::open();
    let config = shop.config(
        "",
        "callers: {trust_client_id_header: true}\nprices: {tools: [{price: 1}]}\n\
         quotas: [{id: purse, budget_per_month: 1, concurrency: 1}]\n",
    );
    let mut gateway = Setup::new().config(&config).start();
    let client = caller(&gateway, Era::Modern, "anna");
    let held = client.begin("tools/call", &json!({"name": "shop__hold", "arguments": {}}));
    eventually("the call is at the server", || (shop.orders("hold") == 1).then_some(()));
    assert_eq!(details(&client.call("shop__buy", &json!({"item": 1})))["measure"], "budget_per_month");
    gateway.kill();
    held.leave();
    let gateway = restarted(gateway, &config);
    assert_eq!(caller(&gateway, Era::Modern, "anna").call("shop__buy", &json!({"item": 2})).text(), "sold 2");
}

#[test]
fn counters_survive_the_removal_of_old_records() {
    let shop = Shop::open();
    let config = shop.config(
        "",
        "callers: {trust_client_id_header: true}\nprices: {tools: [{tools: [buy], price: 1}]}\n\
         quotas: [{id: purse, budget_per_month: 4}]\n",
    );
    let mut gateway = Setup::new().config(&config).start();
    for item in 0..3 {
        caller(&gateway, Era::Modern, "anna").call("shop__buy", &json!({"item": item})).result();
    }
    assert!(gateway.stop().success());
    remove_all_but_the_last_segment(&gateway.home().join("state/ledger"));
    let gateway = restarted(gateway, &config);
    let anna = caller(&gateway, Era::Modern, "anna");
    let bought = anna.call("shop__buy", &json!({"item": 4}));
    assert_eq!(bought.result()["_meta"]["io.toolgate/quota"][0]["used"], 4_000_000);
    assert_eq!(details(&anna.call("shop__buy", &json!({"item": 5})))["rule"], "purse");
}

/// Does what retention does: closes the segment with all there is, and removes it.
fn remove_all_but_the_last_segment(root: &std::path::Path) {
    let settings =
        toolgate_ledger::Settings { segment_bytes: 4 << 10, ..toolgate_ledger::Settings::new(root) };
    let ledger = toolgate_ledger::Ledger::open(settings).unwrap();
    let padding = "x".repeat(4 << 10);
    let record = toolgate_ledger::RecordRef {
        time_us: 1,
        caller: &padding,
        groups: &[],
        kind: toolgate_ledger::Kind::Denial,
        server: "",
        exposed: "",
        native: "",
        era: toolgate_ledger::Era::Modern,
        arguments: None,
        result: None,
        status: toolgate_ledger::Status::Denied,
        error_code: None,
        duration_us: 0,
        price_reserved: 0,
        price_settled: 0,
        trace_id: None,
        policy_revision: 0,
    };
    for _ in 0..3 {
        ledger.append(&record).unwrap();
    }
    ledger.catch_up().unwrap();
    let (store, folder) = (ledger.store(), root.join("local-0"));
    let retention = toolgate_ledger::retention::Retention { maximum_bytes: Some(0), ..Default::default() };
    let shipping = toolgate_ledger::store::ShipperSettings {
        root: root.to_owned(),
        interval: std::time::Duration::from_secs(1),
        calendar: toolgate_ledger::Calendar::default(),
        retention,
    };
    let now_us = jiff::Timestamp::now().as_microsecond();
    let connection = store.connect().unwrap();
    let removed = toolgate_ledger::retention::prune(&connection, &store, &folder, &shipping, now_us).unwrap();
    assert!(removed > 0);
    let left =
        ledger.replay_since(0).unwrap().filter(|record| record.as_ref().unwrap().exposed == "shop__buy");
    assert_eq!(left.count(), 0, "the purchases are gone from the journal");
}
