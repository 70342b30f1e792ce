//! Quotas: what is counted, when it ends, and what a caller is told.

use harness::{Client, Era, eventually};
use jiff::Zoned;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::shop::Shop;
use super::{DENIED, caller, details, gateway};

fn buy(client: &Client) -> harness::Exchange {
    client.call("shop__buy", &json!({"item": 1}))
}

/// What is left of one measure, as an answer tells it.
fn quota<'a>(result: &'a Value, measure: &str) -> &'a Value {
    let quotas = result["_meta"]["io.toolgate/quota"].as_array().unwrap_or_else(|| panic!("{result}"));
    quotas.iter().find(|one| one["measure"] == measure).unwrap()
}

/// Asks until it is refused. The minute may end once meanwhile, so twice the limit must be enough.
fn until_refused(limit: usize, mut ask: impl FnMut() -> harness::Exchange) -> harness::Exchange {
    let answers: Vec<_> = (0..2 * limit + 1).map(|_| ask()).collect();
    let allowed = answers.iter().filter(|answer| answer.answer.get("result").is_some()).count();
    assert!(allowed >= limit, "{allowed} of {limit} allowed");
    answers.into_iter().find(|answer| answer.answer.get("error").is_some()).expect("none was refused")
}

/// Midnight of UTC at the beginning of a day, as it is told.
fn midnight(day: Date) -> String {
    midnight_in(&TimeZone::UTC, day)
}

fn midnight_in(zone: &TimeZone, day: Date) -> String {
    day.to_zoned(zone.clone()).unwrap().timestamp().to_string()
}

fn today() -> Date {
    Zoned::now().with_time_zone(TimeZone::UTC).date()
}

#[test]
fn calls_per_minute_and_reads_per_minute_start_again_within_a_minute() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "", "quotas: [{id: pace, calls_per_minute: 3, reads_per_minute: 2}]\n");
    for era in Era::BOTH {
        let client = caller(&gateway, era, era.word());
        let read = || client.request("resources/read", &json!({"uri": "shop://window"}));
        let get = || client.request("prompts/get", &json!({"name": "shop__welcome"}));
        let mut turn = 0;
        let either = || {
            turn += 1;
            if turn % 2 == 0 { read() } else { get() }
        };
        let called = until_refused(3, || buy(&client));
        let had = until_refused(2, either);
        for (refused, measure, limit) in [(called, "calls_per_minute", 3), (had, "reads_per_minute", 2)] {
            let details = details(&refused);
            assert_eq!(details["measure"], measure);
            assert_eq!((&details["limit"], &details["used"]), (&json!(limit), &json!(limit)));
            assert_eq!((&details["rule"], &details["stage"]), (&json!("pace"), &json!("rate")));
            let data = &refused.answer["error"]["data"];
            assert_eq!(data["retryable"], true);
            assert!((1..=60).contains(&data["retry_after"].as_u64().unwrap()), "{data}");
            assert!(details["resets_at"].as_str().unwrap().ends_with(":00Z"), "{details}");
        }
    }
}

#[test]
fn calls_per_day_are_counted_for_each_caller_and_start_again_at_midnight() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "", "quotas: [{id: daily, calls_per_day: 2}]\n");
    for era in Era::BOTH {
        let client = caller(&gateway, era, era.word());
        let (first, second, third) = (buy(&client), buy(&client), buy(&client));
        assert_eq!(quota(first.result(), "calls_per_day")["remaining"], 1);
        assert_eq!(quota(second.result(), "calls_per_day")["remaining"], 0);
        assert_eq!(details(&third)["resets_at"], midnight(today().tomorrow().unwrap()));
        assert_eq!(buy(&caller(&gateway, era, &format!("other-{}", era.word()))).text(), "sold 1");
    }
}

#[test]
fn a_budget_is_spent_to_its_last_unit_and_no_further() {
    let shop = Shop::open();
    let sections = "prices: {tools: [{tools: [buy], price: 1.5}, {tools: [count], price: 1}, {tools: [vault], price: 2}]}\n\
        quotas: [{id: purse, budget_per_month: 4, max_per_call: 1.9}]\n";
    let gateway = gateway(&shop, "", sections);
    for era in Era::BOTH {
        let client = caller(&gateway, era, era.word());
        let dear = client.call("shop__vault", &json!({}));
        assert_eq!(details(&dear)["measure"], "max_per_call");
        assert_eq!(dear.answer["error"]["data"]["retryable"], false, "no waiting makes it cheaper");
        buy(&client).result();
        let second = buy(&client);
        let left = quota(second.result(), "budget_per_month");
        assert_eq!((&left["used"], &left["remaining"]), (&json!(3_000_000), &json!(1_000_000)));
        let third = buy(&client);
        let refused = details(&third);
        assert_eq!((&refused["stage"], &refused["measure"]), (&json!("budget"), &json!("budget_per_month")));
        assert_eq!((&refused["limit"], &refused["used"]), (&json!(4_000_000), &json!(3_000_000)));
        assert_eq!(refused["resets_at"], midnight(today().last_of_month().tomorrow().unwrap()));
        assert!(third.error().contains("1.5"), "{}", third.error());
        assert_eq!(
            client.call("shop__count", &json!({"n": 1})).text(),
            "count",
            "what is left is enough for this"
        );
    }
}

#[test]
fn a_refusal_tells_what_is_left_and_when_to_come_back() {
    let shop = Shop::open();
    let sections = "prices: {tools: [{tools: [buy], price: 1}]}\npolicy: {rules: [{effect: deny, tools: [break]}]}\n\
        quotas: [{id: pace, calls_per_day: 2}, {id: purse, budget_per_month: 10}]\n";
    let gateway = gateway(&shop, "", sections);
    for era in Era::BOTH {
        let client = caller(&gateway, era, era.word());
        let header = |exchange: &harness::Exchange, name: &str| {
            exchange
                .head
                .header(name)
                .unwrap_or_else(|| panic!("no {name} in {:?}", exchange.head))
                .to_owned()
        };
        let left = |exchange: &harness::Exchange, calls: u64, budget: &str| {
            let rate = header(exchange, "ratelimit");
            assert!(rate.starts_with(&format!("\"pace\";r={calls};t=")), "{rate}");
            assert_eq!(header(exchange, "ratelimit-policy"), "\"pace\";q=2;w=86400");
            assert_eq!(header(exchange, "x-budget-remaining"), budget);
        };
        // By a rule, for its arguments, by the server: nothing of it was used up before, and one call after.
        let denied = client.call("shop__break", &json!({}));
        left(&denied, 2, "10");
        assert_eq!(denied.head.header("retry-after"), None, "waiting does not help");
        let quota = &denied.answer["error"]["data"]["io.toolgate/quota"];
        assert_eq!((&quota[0]["rule"], &quota[0]["remaining"]), (&json!("pace"), &json!(2)));
        left(&client.call("shop__count", &json!({"n": "many"})), 2, "10");
        left(&client.call("shop__upset", &json!({})), 1, "10");
        left(&buy(&client), 0, "9");
        let refused = buy(&client);
        left(&refused, 0, "9");
        let wait: u64 = header(&refused, "retry-after").parse().unwrap();
        assert_eq!(json!(wait), refused.answer["error"]["data"]["retry_after"]);
        // What does not exist tells nothing.
        let unknown = client.call("shop__dream", &json!({}));
        assert_eq!((unknown.head.header("ratelimit"), unknown.head.header("retry-after")), (None, None));
    }
}

#[test]
fn what_is_left_is_told_in_headers_too() {
    let shop = Shop::open();
    let sections = "prices: {tools: [{price: 0.5}]}\n\
        quotas: [{id: pace, calls_per_day: 7, calls_per_minute: 100}, {id: purse, budget_per_month: 2}]\n";
    let gateway = gateway(&shop, "", sections);
    for era in Era::BOTH {
        let bought = buy(&caller(&gateway, era, era.word()));
        let header =
            |name: &str| bought.head.header(name).unwrap_or_else(|| panic!("{:?}", bought.head)).to_owned();
        assert_eq!(header("ratelimit-policy"), "\"pace\";q=100;w=60, \"pace\";q=7;w=86400");
        let left = header("ratelimit");
        assert!(left.starts_with("\"pace\";r=99;t="), "{left}");
        assert!(left.contains(", \"pace\";r=6;t="), "{left}");
        assert_eq!(header("x-budget-limit"), "2");
        assert_eq!(header("x-budget-remaining"), "1.5");
        assert!((0..=31 * 86_400).contains(&header("x-budget-reset").parse::<u64>().unwrap()));
    }
}

#[test]
fn what_a_server_says_it_costs_counts_only_where_it_is_believed() {
    let shop = Shop::open();
    for (record, price) in [("", None), ("trust_prices: true", Some(3_000_000))] {
        let gateway = gateway(&shop, record, "quotas: [{id: purse, budget_per_month: 10}]\n");
        let client = caller(&gateway, Era::Modern, "anna");
        let sold = client.call("shop__dear", &json!({}));
        assert_eq!(quota(sold.result(), "budget_per_month")["used"], price.unwrap_or(0), "{record}");
        let list = client.request("tools/list", &json!({}));
        let tools = list.result()["tools"].as_array().unwrap();
        let dear = tools.iter().find(|tool| tool["name"] == "shop__dear").unwrap();
        assert_eq!(dear["_meta"]["io.toolgate/terms"]["price"], json!(price), "{record}");
    }
}

#[test]
fn a_price_without_tools_is_one_of_tools() {
    let shop = Shop::open();
    let sections =
        "prices: {tools: [{servers: [shop], price: 1}]}\nquotas: [{id: purse, budget_per_month: 10}]\n";
    let gateway = gateway(&shop, "", sections);
    let client = caller(&gateway, Era::Modern, "anna");
    client.request("resources/read", &json!({"uri": "shop://window"})).result();
    client.request("prompts/get", &json!({"name": "shop__welcome"})).result();
    let used = quota(buy(&client).result(), "budget_per_month")["used"].clone();
    assert_eq!(used, 1_000_000, "what was read cost nothing");
}

#[test]
fn a_call_that_fails_costs_only_where_the_operator_says_so() {
    let shop = Shop::open();
    let sections = "prices: {tools: [{tools: [break, upset], price: 1, refund_on_failure: true},\n\
        {tools: [vault, hold], price: 1}, {tools: [long], price: 1, refund_on_failure: false}]}\n\
        quotas: [{id: purse, budget_per_month: 100}]\n";
    let gateway = gateway(&shop, "tool_timeouts: {hold: 300ms}", sections);
    for era in Era::BOTH {
        let client = caller(&gateway, era, era.word());
        let spent = || {
            let bought = buy(&client);
            quota(bought.result(), "budget_per_month")["used"].as_u64().unwrap() / 1_000_000
        };
        assert_eq!(client.call("shop__break", &json!({})).result()["isError"], true);
        let upset = client.call("shop__upset", &json!({}));
        assert_eq!(upset.code(), -32055);
        // An error has no `_meta`: what is left stands in its data, in the server's own words and in ours.
        assert_eq!(
            upset.answer["error"]["data"]["io.toolgate/quota"][0]["rule"], "purse",
            "{}",
            upset.answer
        );
        assert_eq!(spent(), 0, "given back");
        client.call("shop__vault", &json!({})).result();
        assert_eq!(spent(), 1);
        // It takes longer than it may, and nothing says that failures are free.
        let held = client.call("shop__hold", &json!({}));
        assert_eq!(held.code(), -32004);
        let data = &held.answer["error"]["data"];
        assert_eq!((&data["retryable"], &data["retry_after"]), (&json!(true), &json!(1)));
        assert_eq!(data["io.toolgate/quota"][0]["rule"], "purse", "{}", held.answer);
        assert_eq!(spent(), 2);
    }
}

#[test]
fn a_day_ends_at_midnight_of_the_time_zone_that_is_named() {
    let shop = Shop::open();
    for name in ["Pacific/Kiritimati", "Pacific/Pago_Pago"] {
        let zone = TimeZone::get(name).unwrap();
        let quotas = format!("quotas: [{{id: daily, calls_per_day: 1, time_zone: {name}}}]\n");
        let gateway = gateway(&shop, "", &quotas);
        let client = caller(&gateway, Era::Modern, "anna");
        let today = Zoned::now().with_time_zone(zone.clone()).date();
        assert_eq!(buy(&client).text(), "sold 1");
        assert_eq!(details(&buy(&client))["resets_at"], midnight_in(&zone, today.tomorrow().unwrap()));
    }
}

#[test]
fn calls_at_the_same_time_are_bounded_and_their_places_become_free() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "", "quotas: [{id: two, concurrency: 2}]\n");
    let client = caller(&gateway, Era::Modern, "anna");
    let hold = || client.begin("tools/call", &json!({"name": "shop__hold", "arguments": {}}));
    let (first, second) = (hold(), hold());
    eventually("both calls are at the server", || (shop.orders("hold") == 2).then_some(()));
    let third = buy(&client);
    assert_eq!(details(&third)["measure"], "concurrency");
    assert_eq!(third.answer["error"]["data"]["retry_after"], 1);
    assert_eq!(
        buy(&caller(&gateway, Era::Legacy, "ben")).text(),
        "sold 1",
        "others have places of their own"
    );
    // A client that leaves gives its place back, and so does a call that ends.
    first.leave();
    eventually("a place becomes free", || {
        let answer = buy(&client);
        assert!(answer.answer.get("result").is_some() || answer.code() == DENIED, "{}", answer.answer);
        answer.answer.get("result").is_some().then_some(())
    });
    shop.release();
    assert_eq!(second.finish().text(), "released");
}
