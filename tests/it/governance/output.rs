//! What becomes of a call on its way back: signs of life, and the end of what is too long or takes too long.

use harness::Era;
use serde_json::json;

use super::shop::Shop;
use super::{caller, gateway};

#[test]
fn a_quiet_call_shows_signs_of_life() {
    for era in Era::BOTH {
        let shop = Shop::open();
        let gateway = gateway(&shop, "", "runtime: {progress_after: 200ms}\n");
        let client = caller(&gateway, era, "anna");
        let params = json!({"name": "shop__hold", "arguments": {}, "_meta": {"progressToken": 7}});
        let mut pending = client.begin("tools/call", &params);
        // Who gives no token hears nothing.
        let quiet = client.begin("tools/call", &json!({"name": "shop__hold", "arguments": {}}));
        let mut last = 0.0;
        for _ in 0..3 {
            let news = pending.next().unwrap();
            assert_eq!(news["method"], "notifications/progress");
            assert_eq!(news["params"]["progressToken"], 7);
            let progress = news["params"]["progress"].as_f64().unwrap();
            assert!(progress > last, "{progress} after {last}");
            last = progress;
        }
        shop.release();
        assert_eq!(pending.finish().text(), "released");
        assert!(quiet.finish().before.is_empty());
    }
}

#[test]
fn a_result_that_is_too_long_is_cut_and_marked() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "max_output_bytes: 1000", "");
    for era in Era::BOTH {
        let client = caller(&gateway, era, "anna");
        let whole = client.call("shop__long", &json!({"bytes": 900}));
        assert_eq!(
            (whole.text().len(), &whole.result()["_meta"]["io.toolgate/truncated"]),
            (900, &json!(null))
        );
        let cut = client.call("shop__long", &json!({"bytes": 50_000}));
        assert!(cut.text().len() <= 1000, "{}", cut.text().len());
        assert!(cut.raw.len() < 1500, "{}", cut.raw.len());
        assert_eq!(cut.result()["_meta"]["io.toolgate/truncated"]["limit"], 1000);
        let note = cut.result()["content"][1]["text"].as_str().unwrap();
        assert!(note.contains("cut by the gateway"), "{note}");
    }
}

#[test]
fn a_resource_that_is_too_long_is_not_passed_on() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "max_output_bytes: 20", "");
    for era in Era::BOTH {
        let client = caller(&gateway, era, "anna");
        let refused = client.request("resources/read", &json!({"uri": "shop://window"}));
        assert_eq!(refused.code(), -32005, "{}", refused.answer);
        assert!(!refused.raw.contains("things"), "{}", refused.raw);
    }
}

#[test]
fn a_call_that_takes_longer_than_its_tool_may_ends() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "tool_timeouts: {\"h*\": 30s, hold: 300ms}", "");
    for era in Era::BOTH {
        let late = caller(&gateway, era, "anna").call("shop__hold", &json!({}));
        assert_eq!(late.code(), -32004, "{}", late.answer);
        assert!(late.error().contains("'shop' did not answer within 0.3 s"), "{}", late.error());
        assert_eq!(caller(&gateway, era, "anna").call("shop__buy", &json!({"item": 1})).text(), "sold 1");
    }
}
