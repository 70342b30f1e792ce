//! Many at once cannot spend more than there is, nor take more than there is room for.

use std::sync::{Barrier, mpsc};
use std::thread;

use harness::{Era, Exchange, eventually};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use super::shop::Shop;
use super::{caller, details, gateway};

const CLIENTS: usize = 64;
const CALLS: usize = 4;
const BUDGET: usize = 100;

#[test]
fn sixty_four_clients_spend_a_budget_exactly() {
    let shop = Shop::open();
    let sections = format!(
        "prices: {{tools: [{{tools: [buy], price: 1}}]}}\nquotas: [{{id: purse, per: all, budget_per_month: {BUDGET}}}]\n"
    );
    let gateway = gateway(&shop, "", &sections);
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let next_month = today.last_of_month().tomorrow().unwrap().to_zoned(TimeZone::UTC).unwrap();
    let resets_at = json!(next_month.timestamp().to_string());
    let start = Barrier::new(CLIENTS);
    let answers: Vec<Exchange> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (gateway, start) = (&gateway, &start);
                scope.spawn(move || {
                    let client = caller(gateway, Era::BOTH[number % 2], &format!("client-{number}"));
                    start.wait();
                    let call = |_| client.call("shop__buy", &json!({"item": number}));
                    (0..CALLS).map(call).collect::<Vec<_>>()
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let (sold, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.answer.get("result").is_some());
    assert_eq!((sold.len(), refused.len()), (BUDGET, CLIENTS * CALLS - BUDGET));
    assert_eq!(shop.orders("buy"), BUDGET, "and no other call reached the server");
    for refusal in refused {
        let details = details(refusal);
        assert_eq!((&details["rule"], &details["measure"]), (&json!("purse"), &json!("budget_per_month")));
        assert_eq!((&details["used"], &details["limit"]), (&json!(100_000_000), &json!(100_000_000)));
        assert_eq!(details["resets_at"], resets_at);
        let data = &refusal.answer["error"]["data"];
        assert_eq!(data["retryable"], true);
        assert!(data["retry_after"].as_u64().unwrap() > 0);
    }
}

#[test]
fn calls_beyond_what_the_gateway_takes_wait_and_more_of_them_are_refused() {
    const WAITING: usize = 12;
    let shop = Shop::open();
    let gateway = gateway(&shop, "", "runtime: {max_concurrency: 1}\n");
    let client = caller(&gateway, Era::Modern, "anna");
    let begin = |tool: &str| {
        client.begin("tools/call", &json!({"name": format!("shop__{tool}"), "arguments": {"item": 1}}))
    };
    let first = begin("hold");
    eventually("the first call is at the server", || (shop.orders("hold") == 1).then_some(()));
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..WAITING {
            let (waiting, tell) = (begin("buy"), tell.clone());
            scope.spawn(move || tell.send(waiting.finish()).unwrap());
        }
        let refused = told.recv().unwrap();
        assert_eq!(refused.code(), -32005, "{}", refused.answer);
        let data = &refused.answer["error"]["data"];
        assert_eq!((&data["details"]["stage"], &data["retryable"]), (&json!("capacity"), &json!(true)));
        assert_eq!(shop.orders("buy"), 0, "those that wait have not reached the server");
        shop.release();
        assert_eq!(first.finish().text(), "released");
        let later: Vec<_> = told.iter().take(WAITING - 1).collect();
        let sold = later.iter().filter(|answer| answer.answer.get("result").is_some()).count();
        assert!(sold > 0, "those that waited went on");
        assert_eq!(shop.orders("buy"), sold);
    });
}
