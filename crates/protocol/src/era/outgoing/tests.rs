//! Requests in all four cells: exact bytes by table, and any request against a model that knows only maps.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;
use crate::generated::{any_json, object, string};

const INTRODUCTION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}"#;

fn envelope(era: Era) -> Envelope {
    let info = Bytes::from_static(br#"{"name":"c","version":"1"}"#);
    Envelope::new(era, Bytes::from_static(br#"{"roots":{}}"#), Some(info))
}

fn parse(text: &str) -> Message {
    Message::parse(Bytes::copy_from_slice(text.as_bytes())).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn write(text: &str, from: Era, to: Era, native: Option<&str>) -> String {
    let message = parse(text);
    let place = message.place(Field::Name).or(message.place(Field::Uri));
    let native = native.and_then(|native| place.map(|place| (place, native)));
    let outgoing =
        Outgoing { id: 42, native, era: to, envelope: &envelope(from), log_level: None, told: None };
    String::from_utf8(outgoing.write(&message)).unwrap()
}

#[test]
fn within_an_era_only_id_name_and_token_change() {
    for era in [Era::Legacy, Era::Modern] {
        let check = |text: &str, native: Option<&str>, expected: &str| {
            assert_eq!(write(text, era, era, native), expected);
        };
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            None,
            r#"{"jsonrpc":"2.0","id":42,"method":"ping"}"#,
        );
        check(
            " {\n \"params\" : {\"name\":\"s__echo\", \"arguments\":{\"x\":1.50 ,\"name\":\"y\"},\"_meta\":{ \"progressToken\" : \"t\" ,\"k\":0.70 }} ,\"id\":\"a\\u0041\", \"method\":\"tools/c\\u0061ll\",\"jsonrpc\":\"2.0\",\"other\":[ ]}\n",
            Some("echo"),
            " {\n \"params\" : {\"name\":\"echo\", \"arguments\":{\"x\":1.50 ,\"name\":\"y\"},\"_meta\":{ \"progressToken\" : 42 ,\"k\":0.70 }} ,\"id\":42, \"method\":\"tools/c\\u0061ll\",\"jsonrpc\":\"2.0\",\"other\":[ ]}\n",
        );
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"s+a:b","_meta":{"progressToken":9}}}"#,
            Some("a:\"b\"\n世"),
            r#"{"jsonrpc":"2.0","id":42,"method":"resources/read","params":{"uri":"a:\"b\"\n世","_meta":{"progressToken":42}}}"#,
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}"#,
            None,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}"#,
        );
    }
}

#[test]
fn a_modern_server_is_told_who_asks() {
    let check = |rest: &str, expected: &str| {
        let written = write(
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call"{rest}"#),
            Era::Legacy,
            Era::Modern,
            None,
        );
        let expected = expected.replace("INTRODUCTION", INTRODUCTION);
        assert_eq!(written, format!(r#"{{"jsonrpc":"2.0","id":42,"method":"tools/call"{expected}"#));
    };
    check("}", r#","params":{"_meta":{INTRODUCTION}}}"#);
    check(" } ", r#" ,"params":{"_meta":{INTRODUCTION}}} "#);
    check(r#","params":{}}"#, r#","params":{"_meta":{INTRODUCTION}}}"#);
    check(r#","params":{ }}"#, r#","params":{"_meta":{INTRODUCTION} }}"#);
    check(r#","params":{"name":"x"}}"#, r#","params":{"_meta":{INTRODUCTION},"name":"x"}}"#);
    check(r#","params":{"_meta":{}}}"#, r#","params":{"_meta":{INTRODUCTION}}}"#);
    check(
        r#","params":{"_meta":{"progressToken":"t","k":1}}}"#,
        r#","params":{"_meta":{INTRODUCTION,"progressToken":42,"k":1}}}"#,
    );
    // What a legacy client claims in modern words is not believed, and never stands beside what we say.
    check(
        r#","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"liar"}}}}"#,
        r#","params":{"_meta":{INTRODUCTION}}}"#,
    );
    check(
        r#","params":{"_meta":{"k":1, "io.modelcontextprotocol/logLevel":"debug" }}}"#,
        r#","params":{"_meta":{INTRODUCTION,"k":1 }}}"#,
    );
}

#[test]
fn the_log_level_of_a_session_goes_into_each_request() {
    let message = parse(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let envelope = envelope(Era::Legacy);
    let outgoing = Outgoing {
        id: 1,
        native: None,
        era: Era::Modern,
        envelope: &envelope,
        log_level: Some("info"),
        told: None,
    };
    let written = String::from_utf8(outgoing.write(&message)).unwrap();
    assert!(written.ends_with(r#","io.modelcontextprotocol/logLevel":"info"}}}"#), "{written}");
}

#[test]
fn what_a_server_is_told_besides_comes_first() {
    let check = |from: Era, to: Era, params: &str, expected: &str| {
        let message = parse(&format!(r#"{{"id":1,"method":"tools/call","jsonrpc":"2.0"{params}}}"#));
        let (envelope, told) = (envelope(from), Some(r#""who":"ann""#));
        let outgoing = Outgoing { id: 1, native: None, era: to, envelope: &envelope, log_level: None, told };
        let expected = expected.replace("INTRODUCTION", INTRODUCTION);
        let expected = format!(r#"{{"id":1,"method":"tools/call","jsonrpc":"2.0"{expected}}}"#);
        assert_eq!(String::from_utf8(outgoing.write(&message)).unwrap(), expected);
    };
    for era in [Era::Legacy, Era::Modern] {
        check(era, era, "", r#","params":{"_meta":{"who":"ann"}}"#);
        check(era, era, r#","params":{"name":"x"}"#, r#","params":{"_meta":{"who":"ann"},"name":"x"}"#);
        check(era, era, r#","params":{"_meta":{"k":1}}"#, r#","params":{"_meta":{"who":"ann","k":1}}"#);
    }
    let (legacy, modern) = (Era::Legacy, Era::Modern);
    check(legacy, modern, "", r#","params":{"_meta":{"who":"ann",INTRODUCTION}}"#);
    check(
        legacy,
        modern,
        r#","params":{"_meta":{"k":1}}"#,
        r#","params":{"_meta":{"who":"ann",INTRODUCTION,"k":1}}"#,
    );
    let introduced = format!(r#","params":{{"_meta":{{{INTRODUCTION}}}}}"#);
    check(modern, legacy, &introduced, r#","params":{"_meta":{"who":"ann"}}"#);
}

#[test]
fn a_legacy_server_is_not_told_modern_things() {
    let check = |params: &str, expected: &str| {
        let text = |params: &str, id: u8| {
            format!(r#"{{"params":{params},"id":{id},"method":"tools/call","jsonrpc":"2.0"}}"#)
        };
        assert_eq!(write(&text(params, 1), Era::Modern, Era::Legacy, None), text(expected, 42));
    };
    check(&format!(r#"{{"_meta":{{{INTRODUCTION}}}}}"#), r#"{"_meta":{}}"#);
    check(&format!(r#"{{"_meta":{{"a":1,{INTRODUCTION},"b":2}}}}"#), r#"{"_meta":{"a":1,"b":2}}"#);
    check(
        &format!(r#"{{"_meta":{{{INTRODUCTION},"progressToken":"t"}}}}"#),
        r#"{"_meta":{"progressToken":42}}"#,
    );
    check(
        &format!(r#"{{"_meta":{{"progressToken":1,{INTRODUCTION}}}}}"#),
        r#"{"_meta":{"progressToken":42}}"#,
    );
    check(
        r#"{"_meta":{"\ud800":1,"io.modelcontextprotocol/log\u004cevel":"info"}}"#,
        r#"{"_meta":{"\ud800":1}}"#,
    );
    check(r#"{"name":"x","inputResponses":{},"requestState":"s"}"#, r#"{"name":"x"}"#);
    check(r#"{"inputResponses":{} , "requestState":"s"}"#, "{}");
    check(r#"{"requestState":"s","name":"x","inputResponses":{}}"#, r#"{"name":"x"}"#);
    check(r#"{"task":{"ttl":1},"name":"x"}"#, r#"{"task":{"ttl":1},"name":"x"}"#);
}

/// A request by its parts: keys and values as they are written.
#[derive(Clone, Debug)]
struct Parts {
    top: Vec<(String, String)>,
    params: Option<Vec<(String, String)>>,
    meta: Option<Vec<(String, String)>>,
    text: String,
}

fn member(key: &str, value: impl Into<String>) -> (String, String) {
    (format!("\"{key}\""), value.into())
}

/// Members with keys of their own, among them some of the `known` ones.
fn members(known: Vec<(String, String)>) -> impl Strategy<Value = Vec<(String, String)>> {
    let unknown = proptest::collection::vec((string(), any_json()), 0..4).prop_map(|members| {
        let number = |(at, (key, value)): (usize, (String, String))| (format!("\"x{at}{}", &key[1..]), value);
        members.into_iter().enumerate().map(number).collect::<Vec<_>>()
    });
    let known = proptest::sample::subsequence(known.clone(), 0..=known.len());
    (unknown, known).prop_map(|(unknown, known)| [unknown, known].concat()).prop_shuffle()
}

fn request() -> impl Strategy<Value = Parts> {
    let meta_members = vec![
        member("progressToken", "\"the client's token\""),
        member("io.modelcontextprotocol/protocolVersion", "\"2026-07-28\""),
        member("io.modelcontextprotocol/clientCapabilities", "{}"),
        member("io.modelcontextprotocol/logLevel", "\"info\""),
    ];
    let params_members = vec![
        member("name", "\"s__echo\""),
        member("arguments", r#"{"_meta":{"progressToken":1},"id":3}"#),
        member("requestState", "\"s\""),
        member("inputResponses", "{\"q\":{}}"),
    ];
    let meta = proptest::option::of(members(meta_members));
    let params = proptest::option::weighted(0.9, (members(params_members), meta));
    (params, members(Vec::new()), any::<prop::sample::Index>()).prop_flat_map(|(params, mut top, at)| {
        let (params, meta) = params.map_or((None, None), |(params, meta)| (Some(params), meta));
        let meta_text = meta.clone().map(object);
        let meta_text = meta_text.map_or(Just(None).boxed(), |text| text.prop_map(Some).boxed());
        top.extend([
            member("jsonrpc", "\"2.0\""),
            member("id", "\"the client's id\""),
            member("method", "\"tools/call\""),
        ]);
        meta_text.prop_flat_map(move |meta_text| {
            let (top, params, meta) = (top.clone(), params.clone(), meta.clone());
            let whole = params.clone().map(|mut params| {
                let place = at.index(params.len() + 1);
                params.splice(place..place, meta_text.map(|text| member("_meta", text)));
                params
            });
            let whole = whole.map_or(Just(None).boxed(), |params| object(params).prop_map(Some).boxed());
            whole.prop_flat_map(move |params_text| {
                let (params, meta) = (params.clone(), meta.clone());
                let all: Vec<_> =
                    top.iter().cloned().chain(params_text.map(|text| member("params", text))).collect();
                Just(all).prop_shuffle().prop_flat_map(move |top| {
                    let (params, meta) = (params.clone(), meta.clone());
                    object(top.clone()).prop_map(move |text| Parts {
                        top: top.clone(),
                        params: params.clone(),
                        meta: meta.clone(),
                        text,
                    })
                })
            })
        })
    })
}

type Members = BTreeMap<String, String>;

fn read(text: &str) -> Members {
    let raw: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    raw.into_iter().map(|(key, value)| (key, value.get().to_owned())).collect()
}

fn known(members: &[(String, String)]) -> Members {
    members.iter().map(|(key, value)| (serde_json::from_str(key).unwrap(), value.clone())).collect()
}

/// What the server shall read: the members of the message, of `params` and of `_meta`.
fn model(parts: &Parts, from: Era, to: Era) -> (Members, Option<Members>, Option<Members>) {
    let mut top = known(&parts.top);
    top.insert("id".into(), "42".into());
    let mut params = parts.params.as_deref().map(known);
    let mut meta = parts.meta.as_deref().map(known);
    if let Some(params) = &mut params {
        params.entry("name".into()).and_modify(|name| *name = "\"echo\"".into());
    }
    if let Some(meta) = &mut meta {
        meta.entry("progressToken".into()).and_modify(|token| *token = "42".into());
        if from != to {
            meta.retain(|key, _| !HOP_BY_HOP.iter().any(|field| field.key() == key));
        }
    }
    match (from, to) {
        (Era::Legacy, Era::Modern) => {
            params.get_or_insert_default();
            meta.get_or_insert_default().extend(read(&format!("{{{INTRODUCTION}}}")));
        }
        (Era::Modern, Era::Legacy) => {
            if let Some(params) = &mut params {
                params.retain(|key, _| !["inputResponses", "requestState"].contains(&key.as_str()));
            }
        }
        _ => {}
    }
    top.remove("params");
    (top, params, meta)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_need_not_change_arrives_as_it_left(parts in request()) {
        for (from, to) in [
            (Era::Legacy, Era::Legacy), (Era::Legacy, Era::Modern), (Era::Modern, Era::Legacy), (Era::Modern, Era::Modern),
        ] {
            let written = write(&parts.text, from, to, Some("echo"));
            prop_assert!(Message::parse(Bytes::from(written.clone())).is_ok(), "{}", written);
            let mut top = read(&written);
            let mut params = top.remove("params").map(|params| read(&params));
            let meta = params.as_mut().and_then(|params| params.remove("_meta")).map(|meta| read(&meta));
            prop_assert_eq!((top, params, meta), model(&parts, from, to), "{:?} to {:?}: {}", from, to, written);
        }
    }

    #[test]
    fn without_anything_to_change_the_bytes_are_the_same(parts in request()) {
        let message = parse(&parts.text);
        prop_assert_eq!(message.bytes().as_ref(), parts.text.as_bytes());
        let same = parts.text.replace("\"the client's id\"", "42").replace("\"the client's token\"", "42");
        prop_assert_eq!(write(&parts.text, Era::Legacy, Era::Legacy, None), same);
    }
}
