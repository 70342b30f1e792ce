//! Rules, prices and limits that change while clients are there.

use harness::{Client, Era, Gateway, Setup, Upstream};
use serde_json::{Value, json};

use super::shop::Shop;
use super::{caller, details, listed};

const HEAD: &str = "runtime: {auto_reload: false}\ncallers: {trust_client_id_header: true}\n";

fn reload(gateway: &Gateway, shop: &Shop, sections: &str) {
    gateway.rewrite(&shop.config("", &format!("{HEAD}{sections}")));
    gateway.reload();
}

fn sees_vault(client: &Client) -> bool {
    listed(client, "tools/list", "tools", "name").contains(&"shop__vault".to_owned())
}

/// What a client hears up to the news that its prompts have changed.
fn heard(mut next: impl FnMut() -> Value) -> Vec<String> {
    let mut heard = Vec::new();
    loop {
        let method = next()["method"].as_str().unwrap().to_owned();
        if method == "notifications/prompts/list_changed" {
            return heard;
        }
        heard.push(method);
    }
}

#[test]
fn those_hear_of_new_rules_whose_lists_they_change() {
    let shop = Shop::open();
    let gateway = Setup::new().config(&shop.config("", HEAD)).start();
    let [anna, ben] = ["anna", "ben"].map(|name| caller(&gateway, Era::Legacy, name));
    let [carla, dora] = ["carla", "dora"].map(|name| caller(&gateway, Era::Modern, name));
    let mut streams = [&anna, &ben].map(|client| client.listen(None));
    let wanted = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}});
    let mut listening = [&carla, &dora].map(|client| {
        let mut listening = client.begin("subscriptions/listen", &wanted);
        listening.next().expect("the acknowledgement");
        listening
    });
    let clients = [&anna, &ben, &carla, &dora];
    assert!(clients.iter().all(|client| sees_vault(client)));

    let hide = "{id: gone, effect: hide, callers: [anna, carla], tools: [vault]}";
    reload(&gateway, &shop, &format!("policy: {{rules: [{hide}]}}\n"));
    assert_eq!(clients.map(sees_vault), [false, true, false, true]);
    // A rule that shows in no list is told to nobody.
    let deny = "{effect: deny, tools: [buy], when: \"arguments.item == 7\"}";
    reload(&gateway, &shop, &format!("policy: {{rules: [{hide}, {deny}]}}\n"));
    assert_eq!(ben.call("shop__buy", &json!({"item": 7})).code(), super::DENIED);
    let last = "{effect: hide, prompts: [vault]}";
    reload(&gateway, &shop, &format!("policy: {{rules: [{hide}, {deny}, {last}]}}\n"));

    let told = "notifications/tools/list_changed".to_owned();
    let expected = [vec![told.clone()], Vec::new(), vec![told], Vec::new()];
    let on_streams = streams
        .each_mut()
        .map(|stream| heard(|| serde_json::from_str(&stream.event().unwrap().unwrap().data).unwrap()));
    let on_listening = listening.each_mut().map(|listening| heard(|| listening.next().unwrap()));
    assert_eq!(on_streams.into_iter().chain(on_listening).collect::<Vec<_>>(), expected);
    streams.into_iter().for_each(harness::http::Connection::close);
    listening.into_iter().for_each(harness::client::Pending::leave);
}

#[test]
fn a_price_and_a_limit_count_from_the_reload_on() {
    let shop = Shop::open();
    let gateway = Setup::new().config(&shop.config("", HEAD)).start();
    let anna = caller(&gateway, Era::Legacy, "anna");
    let mut stream = anna.listen(None);
    let buy = |client: &Client| client.call("shop__buy", &json!({"item": 1}));
    for _ in 0..3 {
        buy(&anna).result();
    }
    let priced = "prices: {tools: [{tools: [buy], price: 2}]}\n";
    reload(&gateway, &shop, priced);
    let event = stream.event().unwrap().unwrap().data;
    assert!(event.contains("notifications/tools/list_changed"), "prices stand in lists: {event}");
    buy(&anna).result();
    // What happened before there was a quota is part of what it counts, each call at the price it had.
    reload(
        &gateway,
        &shop,
        &format!("{priced}quotas: [{{id: purse, budget_per_month: 5, calls_per_day: 6}}]\n"),
    );
    let quotas = buy(&anna).result()["_meta"]["io.toolgate/quota"].clone();
    assert_eq!((&quotas[0]["used"], &quotas[1]["used"]), (&json!(4_000_000), &json!(5)), "{quotas}");
    let refused = buy(&anna);
    assert_eq!(details(&refused)["measure"], "budget_per_month");
    buy(&caller(&gateway, Era::Modern, "ben")).result();
    // A quota whose limit changes keeps its counts, and one that covers more counts what it would have.
    reload(
        &gateway,
        &shop,
        &format!("{priced}quotas: [{{id: purse, budget_per_month: 50, calls_per_day: 5}}]\n"),
    );
    assert_eq!(details(&buy(&anna))["measure"], "calls_per_day");
    reload(&gateway, &shop, &format!("{priced}quotas: [{{id: purse, per: all, calls_per_day: 6}}]\n"));
    assert_eq!(details(&buy(&anna))["used"], 6, "those of anna and the one of ben");
    stream.close();
    assert_eq!(shop.orders("buy"), 6);
}

#[test]
fn a_resource_that_is_hidden_by_now_is_heard_of_no_more() {
    let upstream = Upstream::start(Era::Legacy, &["resources=2"]);
    let server = format!("servers:\n  h: {{url: \"{}\"}}\n{HEAD}", upstream.url());
    let gateway = Setup::new().config(&server).start();
    let client = caller(&gateway, Era::Legacy, "anna");
    let uris = ["scene://thing/0000", "scene://thing/0001"];
    for uri in uris {
        client.request("resources/subscribe", &json!({"uri": uri})).result();
    }
    let mut stream = client.listen(None);
    let hide = "policy: {rules: [{effect: hide, resources: [\"scene://thing/0000\"]}]}\n";
    gateway.rewrite(&format!("{server}{hide}"));
    gateway.reload();
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            harness::eventually("the second is heard of", || {
                for uri in uris {
                    upstream.script().announce("notifications/resources/updated", &json!({"uri": uri}));
                }
                over.load(std::sync::atomic::Ordering::Relaxed).then_some(())
            });
        });
        loop {
            let event = stream.event().unwrap().unwrap().data;
            assert!(!event.contains(uris[0]), "{event}");
            if event.contains(uris[1]) {
                break;
            }
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    stream.close();
}
