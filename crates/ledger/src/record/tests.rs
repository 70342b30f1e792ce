//! Records survive the way to bytes and back, and no bytes make the decoder panic.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Body, BodyRef, Digest, Era, Kind, Record, RecordRef, Status};

fn as_ref(record: &Record) -> RecordRef<'_> {
    RecordRef {
        time_us: record.time_us,
        caller: &record.caller,
        groups: &record.groups,
        kind: record.kind,
        server: &record.server,
        exposed: &record.exposed,
        native: &record.native,
        era: record.era,
        arguments: record.arguments.as_ref().map(Body::as_ref),
        result: record.result.as_ref().map(Body::as_ref),
        status: record.status,
        error_code: record.error_code,
        duration_us: record.duration_us,
        price_reserved: record.price_reserved,
        price_settled: record.price_settled,
        trace_id: record.trace_id,
        policy_revision: record.policy_revision,
    }
}

fn bodies() -> impl Strategy<Value = Option<Body>> {
    proptest::option::of(
        (any::<Vec<u8>>(), 0usize..200).prop_map(|(bytes, limit)| Body::from(BodyRef::new(&bytes, limit))),
    )
}

fn records() -> impl Strategy<Value = Record> {
    let who = (".*", proptest::collection::vec(".*", 0..4), ".{0,9}", ".{0,9}", ".{0,9}", any::<bool>());
    let how = (
        proptest::sample::select(Kind::ALL),
        proptest::sample::select(Status::ALL),
        proptest::sample::select(Era::ALL),
        any::<Option<i32>>(),
        any::<Option<[u8; 16]>>(),
    );
    (who, how, (bodies(), bodies()), any::<(i64, u64, u64, u64, u64)>()).prop_map(
        |((caller, groups, server, exposed, native, prefixed), how, bodies, numbers)| Record {
            replica: Arc::from("local-0"),
            sequence: 7,
            time_us: numbers.0,
            caller,
            groups: groups.into_iter().map(Arc::from).collect(),
            kind: how.0,
            exposed: if prefixed { format!("{server}__{native}") } else { exposed },
            server,
            native,
            era: how.2,
            arguments: bodies.0,
            result: bodies.1,
            status: how.1,
            error_code: how.3,
            duration_us: numbers.1,
            price_reserved: numbers.2,
            price_settled: numbers.3,
            trace_id: how.4,
            policy_revision: numbers.4,
        },
    )
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(record in records()) {
        let mut bytes = Vec::new();
        as_ref(&record).encode(&mut bytes);
        prop_assert_eq!(&Record::decode(&bytes, Arc::clone(&record.replica), 7).unwrap(), &record);
        for end in 0..bytes.len() {
            prop_assert!(Record::decode(&bytes[..end], Arc::clone(&record.replica), 7).is_err(), "cut at {}", end);
        }
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(mut bytes in any::<Vec<u8>>()) {
        if let Some(version) = bytes.first_mut() {
            *version = super::ENCODING_VERSION;
        }
        let _ = Record::decode(&bytes, Arc::from(""), 0);
    }
}

#[test]
fn a_small_call_is_small() {
    let groups = [Arc::from("research")];
    let record = RecordRef {
        time_us: 1_785_000_000_000_000,
        caller: "agent-17",
        groups: &groups,
        kind: Kind::ToolCall,
        server: "weather",
        exposed: "weather__forecast",
        native: "forecast",
        era: Era::Modern,
        arguments: Some(BodyRef::new(br#"{"city":"Reykjavik","days":3}"#, 4096)),
        result: Some(BodyRef::new(br#"{"content":[{"type":"text","text":"rain, then rain"}]}"#, 4096)),
        status: Status::Ok,
        error_code: None,
        duration_us: 1_834,
        price_reserved: 1_000,
        price_settled: 1_000,
        trace_id: Some([7; 16]),
        policy_revision: 12,
    };
    let mut bytes = Vec::new();
    record.encode(&mut bytes);
    assert!(bytes.len() < 200, "{} bytes", bytes.len());
}

#[test]
fn a_body_is_cut_between_characters_and_hashed_whole() {
    let check = |text: &str, limit: usize, kept: &str| {
        let body = Body::from(BodyRef::new(text.as_bytes(), limit));
        assert_eq!(body.kept, kept.as_bytes());
        assert_eq!(body.size(), text.len() as u64);
        assert_eq!(body.is_whole(), kept == text);
        assert_eq!(matches!(body.digest(), Digest::Sha256(_)), kept != text);
    };
    check("abc", 3, "abc");
    check("abc", 2, "ab");
    check("aé", 2, "a");
    check("aé", 3, "aé");
    check("€€", 4, "€");
    check("abc", 0, "");
}
