//! Any bytes as a message: read or refused, and what is read stays a message in every cell, under the id it should have.

use bytes::Bytes;
use serde_json::value::RawValue;
use toolgate_protocol::era::{Envelope, Outgoing, answer};
use toolgate_protocol::message::{Field, Unreadable, split_batch};
use toolgate_protocol::object::elements;
use toolgate_protocol::{Era, Kind, Message, Method, short_call};

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

pub(crate) fn run(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    match Message::parse(bytes.clone()) {
        Ok(message) => check_message(&message, data),
        Err(refusal) => {
            for era in ERAS {
                parse_again(refusal.reply().answer(refusal.id(), era));
            }
            if refusal == Unreadable::Batch {
                let _ = split_batch(&bytes, 100);
            }
        }
    }
}

fn check_message(message: &Message, data: &[u8]) {
    assert_eq!(message.bytes(), data);
    assert!(serde_json::from_slice::<&RawValue>(data).is_ok(), "another reader refuses it");
    for from in ERAS {
        for to in ERAS {
            match message.kind() {
                Kind::Request | Kind::Notification => check_request(message, from, to),
                Kind::Result | Kind::Error => check_answer(message, from, to),
            }
        }
    }
}

fn check_request(message: &Message, from: Era, to: Era) {
    let envelope = Envelope::new(from, Bytes::from_static(b"{}"), None);
    let native = message.place(Field::Name).map(|place| (place, "na\"tive"));
    let outgoing = Outgoing { id: 42, native, era: to, envelope: &envelope, log_level: None, told: None };
    let written = parse_again(Bytes::from(outgoing.write(message)));
    assert_eq!(written.kind(), message.kind());
    assert_eq!(written.method_name(), message.method_name());
    assert_eq!(written.id(), message.id().map(|_| b"42".as_slice()));
    assert_eq!(written.field(Field::Arguments), message.field(Field::Arguments));
    check_in_short(message);
}

/// A call in short is one line of JSON that holds what the call does.
fn check_in_short(message: &Message) {
    let Some(written) = short_call::write(42, None, "m\"", message) else { return };
    let parts = elements(&written).unwrap_or_default();
    let arguments = message.field(Field::Arguments).unwrap_or(b"{}");
    let name = message.field(Field::Name).unwrap_or_default();
    assert_eq!(parts, [b"42".as_slice(), name, arguments, br#""m\"""#], "{}", written.escape_ascii());
}

fn check_answer(message: &Message, from: Era, to: Era) {
    for method in [Method::ToolsCall, Method::ResourcesRead] {
        let written =
            parse_again(answer::write(message, br#""client""#, method, from, to, r#"{"name":"g"}"#));
        assert_eq!(written.kind(), message.kind());
        assert_eq!(written.id(), message.id().map(|_| br#""client""#.as_slice()));
        assert_eq!(written.field(Field::Content), message.field(Field::Content));
    }
}

fn parse_again(bytes: Bytes) -> Message {
    match Message::parse(bytes.clone()) {
        Ok(message) => message,
        Err(refusal) => panic!("{refusal}: {}", bytes.escape_ascii()),
    }
}
