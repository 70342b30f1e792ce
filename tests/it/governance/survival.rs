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
