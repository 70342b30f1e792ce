//! Callers by JSON Web Token.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use harness::http::Connection;
use harness::{Client, Era, Gateway, Setup, Website, eventually};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::callers::{check_refused, knock};
use super::shop::Shop;
use super::{listed, restarted};

/// Somebody who signs tokens.
struct Issuer {
    pair: Ed25519KeyPair,
    /// The name of its key.
    kid: &'static str,
}

impl Issuer {
    fn new() -> Issuer {
        Issuer::with_key("one")
    }

    fn with_key(kid: &'static str) -> Issuer {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Issuer { pair: Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap(), kid }
    }

    fn published(&self) -> Value {
        let key = URL_SAFE_NO_PAD.encode(self.pair.public_key());
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": self.kid, "x": key}]})
    }

    fn bearer(&self, changes: &Value) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut claims = json!({"iss": "https://issuer.example", "aud": "toolgate", "sub": "anna",
                                "exp": now + 300, "roles": ["sales"]});
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({"alg": "EdDSA", "kid": self.kid})), part(&claims));
        let signature = self.pair.sign(signed.as_bytes());
        format!("Bearer {signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

#[test]
fn tokens_of_a_known_issuer_say_who_calls_and_in_which_groups() {
    let (shop, place, issuer) = (Shop::open(), TempDir::new().unwrap(), Issuer::new());
    let keys = place.path().join("jwks.json");
    fs::write(&keys, issuer.published().to_string()).unwrap();
    let sections = format!(
        "callers: {{anonymous: deny, jwt: [{{issuer: \"https://issuer.example\", audience: toolgate,\n \
         jwks_file: \"{}\", groups_claim: roles}}]}}\npolicy: {{default: deny, rules: [\n\
         {{effect: allow, groups: [sales], tools: [buy]}}, {{effect: allow, callers: [anna], tools: [count]}}]}}\n",
        keys.display()
    );
    let gateway = Setup::new().config(&shop.config("", &sections)).start();
    for era in Era::BOTH {
        for (changes, expected) in [
            (json!({}), &["shop__buy", "shop__count"][..]),
            (json!({"roles": []}), &["shop__count"]),
            (json!({"sub": "ben"}), &["shop__buy"]),
            (json!({"sub": "ben", "roles": "sales other"}), &["shop__buy"]),
            (json!({"sub": "ben", "roles": ["other"]}), &[]),
        ] {
            let client = Client::presenting(&gateway, era, &[("authorization", &issuer.bearer(&changes))]);
            assert_eq!(listed(&client, "tools/list", "tools", "name"), expected, "{changes}");
        }
    }
    for (changes, why) in [
        (json!({"exp": 1_000_000_000}), "the token has expired"),
        (json!({"nbf": 9_000_000_000_u64}), "the token is not valid yet"),
        (json!({"aud": "another"}), "another audience"),
        (json!({"iss": "https://stranger.example"}), "nor a token of an issuer it knows"),
        (json!({"sub": ""}), "does not say who is calling"),
    ] {
        check_refused(&gateway, &[("authorization", &issuer.bearer(&changes))], why);
    }
    let forged = Issuer::new().bearer(&json!({}));
    check_refused(&gateway, &[("authorization", &forged)], "the signature of the token is wrong");
    check_refused(&gateway, &[("authorization", "Bearer not.a.token")], "the token is malformed");
}

#[test]
fn keys_that_an_issuer_changes_are_fetched_when_somebody_brings_them() {
    let (shop, old, new) = (Shop::open(), Issuer::with_key("old"), Issuer::with_key("new"));
    let published = Arc::new(Mutex::new(old.published()));
    let shown = Arc::clone(&published);
    let website = Website::open(move |_| (200, shown.lock().unwrap().clone()));
    let sections = format!(
        "callers: {{anonymous: deny, jwt: [{{issuer: \"https://issuer.example\", audience: toolgate,\n \
         jwks_url: \"http://127.0.0.1:{}/keys\"}}]}}\n",
        website.port()
    );
    let gateway = Setup::new().config(&shop.config("", &sections)).start();
    gateway.log().until("the keys of the issuer were fetched");
    let status =
        |issuer: &Issuer| knock(&gateway, &[("authorization", &issuer.bearer(&json!({})))]).head.status;
    assert_eq!(status(&old), 200);
    assert_eq!(website.heard().len(), 1);
    *published.lock().unwrap() = new.published();
    assert_eq!(status(&old), 200, "nobody has missed a key");
    assert_eq!(status(&new), 401, "its key is not there yet, and is asked for");
    eventually("the new key is there", || (status(&new) == 200).then_some(()));
    assert_eq!(website.heard().len(), 2);
    assert_eq!(status(&old), 401, "the old one is withdrawn");
    assert_eq!(website.heard().len(), 2, "the issuer is not asked for every stranger");
}

#[test]
fn the_keys_of_an_issuer_outlast_a_restart_while_it_is_away() {
    let (shop, issuer) = (Shop::open(), Issuer::new());
    let published = issuer.published();
    let is_away = Arc::new(AtomicBool::new(false));
    let looked = Arc::clone(&is_away);
    let website = Website::open(move |_| match looked.load(Ordering::Relaxed) {
        false => (200, published.clone()),
        true => (503, json!({})),
    });
    let sections = format!(
        "callers: {{anonymous: deny, jwt: [{{issuer: \"https://issuer.example\", audience: toolgate,\n \
         jwks_url: \"http://127.0.0.1:{}/keys\"}}]}}\n",
        website.port()
    );
    let config = shop.config("", &sections);
    let status = |gateway: &Gateway, issuer: &Issuer| {
        knock(gateway, &[("authorization", &issuer.bearer(&json!({})))]).head.status
    };
    let gateway = Setup::new().config(&config).start();
    gateway.log().until("the keys of the issuer were fetched");
    assert_eq!(status(&gateway, &issuer), 200);
    is_away.store(true, Ordering::Relaxed);
    let gateway = restarted(gateway, &config);
    gateway.log().until("the keys of the issuer were not fetched");
    assert_eq!(status(&gateway, &issuer), 200);
    assert_eq!(status(&gateway, &Issuer::new()), 401);
}

#[test]
fn one_name_of_two_issuers_is_two_callers() {
    let (shop, place) = (Shop::open(), TempDir::new().unwrap());
    let issuers = [Issuer::new(), Issuer::new()];
    let records: Vec<String> = issuers
        .iter()
        .enumerate()
        .map(|(number, issuer)| {
            let keys = place.path().join(format!("jwks-{number}.json"));
            fs::write(&keys, issuer.published().to_string()).unwrap();
            format!(
                "{{issuer: \"https://{number}.example\", audience: toolgate, jwks_file: \"{}\"}}",
                keys.display()
            )
        })
        .collect();
    let sections = format!(
        "callers: {{trust_client_id_header: true, jwt: [{}]}}\n\
         policy: {{default: deny, rules: [{{effect: allow, callers: [\"https://1.example#anna\"], tools: [buy]}},\n\
         {{effect: allow, callers: [\"claimed:anna\"], tools: [count]}}]}}\n",
        records.join(", ")
    );
    let gateway = Setup::new().config(&shop.config("", &sections)).start();
    for (number, expected) in [(0, &[][..]), (1, &["shop__buy"])] {
        let bearer = issuers[number].bearer(&json!({"iss": format!("https://{number}.example")}));
        let client = Client::presenting(&gateway, Era::Modern, &[("authorization", &bearer)]);
        assert_eq!(listed(&client, "tools/list", "tools", "name"), expected, "{number}");
    }
    let client = Client::presenting(&gateway, Era::Modern, &[("x-mcp-client-id", "anna")]);
    assert_eq!(listed(&client, "tools/list", "tools", "name"), ["shop__count"]);
}

/// A gateway whose tools are for the group `sales`.
fn for_sales(shop: &Shop, place: &TempDir, issuer: &Issuer) -> Gateway {
    let keys = place.path().join("jwks.json");
    fs::write(&keys, issuer.published().to_string()).unwrap();
    let sections = format!(
        "callers: {{jwt: [{{issuer: \"https://issuer.example\", audience: toolgate, jwks_file: \"{}\",\n \
         groups_claim: roles}}]}}\npolicy: {{default: deny, rules: [{{effect: allow, groups: [sales]}}]}}\n",
        keys.display()
    );
    Setup::new().config(&shop.config("", &sections)).start()
}

#[test]
fn a_stream_of_the_first_revision_ends_with_the_groups_it_was_opened_with() {
    let (shop, place, issuer) = (Shop::open(), TempDir::new().unwrap(), Issuer::new());
    let gateway = for_sales(&shop, &place, &issuer);
    let (before, after) = (issuer.bearer(&json!({})), issuer.bearer(&json!({"roles": []})));
    let mut stream = Connection::open(gateway.address());
    let opening = [("accept", "text/event-stream"), ("authorization", &*before)];
    stream.send("GET", "/mcp/sse", &opening, b"").unwrap();
    assert_eq!(stream.head().unwrap().status, 200);
    let path = stream.event().unwrap().unwrap().data;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    for (credential, expected) in [(&before, 202), (&after, 404)] {
        let headers = [("content-type", "application/json"), ("authorization", &**credential)];
        let posted = Connection::open(gateway.address()).exchange("POST", &path, &headers, ping.as_bytes());
        assert_eq!(posted.head.status, expected, "{}", posted.text());
    }
    stream.close();
}

#[test]
fn a_session_ends_with_the_groups_it_was_begun_with() {
    let (shop, place, issuer) = (Shop::open(), TempDir::new().unwrap(), Issuer::new());
    let gateway = for_sales(&shop, &place, &issuer);
    let before = issuer.bearer(&json!({}));
    let anna = Client::presenting(&gateway, Era::Legacy, &[("authorization", &before)]);
    assert_eq!(anna.call("shop__buy", &json!({"item": 1})).text(), "sold 1");

    let message = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
                         "params": {"name": "shop__buy", "arguments": {"item": 2}}});
    let mut headers = anna.headers(&message);
    headers.retain(|(name, _)| *name != "authorization");
    headers.push(("authorization", issuer.bearer(&json!({"roles": []}))));
    assert_eq!(anna.post_raw(message.to_string().as_bytes(), &headers).head.status, 404);
    assert_eq!(shop.orders("buy"), 1);
}
