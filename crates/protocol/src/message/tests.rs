//! What is a message, what is none, and what is said of it.

use proptest::prelude::*;

use super::*;
use crate::era::Era;
use crate::generated::{any_json, nearly_json, object, string};

fn parse(text: &str) -> Result<Message, Unreadable> {
    Message::parse(Bytes::copy_from_slice(text.as_bytes()))
}

fn readable(text: &str) -> Message {
    parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn each_kind_is_known_by_its_members() {
    let check = |text: &str, kind: Kind, id: Option<&str>, method: Option<Method>, body: Option<&str>| {
        let message = readable(text);
        assert_eq!(message.kind(), kind, "{text}");
        assert_eq!(message.id(), id.map(str::as_bytes), "{text}");
        assert_eq!(message.method(), method, "{text}");
        assert_eq!(message.body(), body.map(str::as_bytes), "{text}");
        assert_eq!(message.bytes().as_ref(), text.as_bytes());
    };
    let call = Some(Method::ToolsCall);
    check(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, Kind::Request, Some("1"), call, None);
    check(
        " {\"params\":{ } ,\"method\":\"tools\\/call\",\"id\":\"\\u0061\",\"jsonrpc\":\"2.0\"}\n",
        Kind::Request,
        Some(r#""\u0061""#),
        call,
        Some("{ }"),
    );
    check(
        r#"{"jsonrpc":"2\u002e0","m\u0065thod":"ping","i\u0064":0}"#,
        Kind::Request,
        Some("0"),
        Some(Method::Ping),
        None,
    );
    check(
        r#"{"jsonrpc":"2.0","method":"x/y","id":"\ud800"}"#,
        Kind::Request,
        Some(r#""\ud800""#),
        Some(Method::Unknown),
        None,
    );
    check(r#"{"jsonrpc":"2.0","method":"\ud800"}"#, Kind::Notification, None, Some(Method::Unknown), None);
    check(
        r#"{"jsonrpc":"2.0","method":"ping","other":{"id":1,"result":{}}}"#,
        Kind::Notification,
        None,
        Some(Method::Ping),
        None,
    );
    check(
        r#"{"jsonrpc":"2.0","id":-5,"result":{"x":1}}"#,
        Kind::Result,
        Some("-5"),
        None,
        Some(r#"{"x":1}"#),
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":null}}"#,
        Kind::Result,
        Some("1"),
        None,
        Some(r#"{"_meta":null}"#),
    );
    let error = r#"{"code":-1,"message":""}"#;
    check(
        &format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#),
        Kind::Error,
        Some("1"),
        None,
        Some(error),
    );
    check(&format!(r#"{{"jsonrpc":"2.0","id":null,"error":{error}}}"#), Kind::Error, None, None, Some(error));
    check(&format!(r#"{{"jsonrpc":"2.0","error":{error}}}"#), Kind::Error, None, None, Some(error));
}

#[test]
fn ids_are_kept_as_written() {
    let huge = format!("\"{}\"", "i".repeat(100_000));
    let ids = [
        "0",
        "-0",
        "7",
        "-7",
        "9223372036854775808",
        "123456789012345678901234567890",
        "1e3",
        "1.0",
        "-0.0",
        "\"\"",
        r#""a\"b""#,
        &huge,
    ];
    for id in ids {
        let message = readable(&format!(r#"{{"jsonrpc":"2.0","id": {id} ,"method":"ping"}}"#));
        assert_eq!(message.id(), Some(id.as_bytes()));
    }
}

#[test]
fn what_is_no_message_is_refused_in_words_and_with_its_id() {
    let check = |text: &str, what: &str, id: Option<&str>| {
        let expected = Unreadable::NotAMessage {
            what: what.into(),
            id: id.map(|id| Bytes::copy_from_slice(id.as_bytes())),
        };
        assert_eq!(parse(text).unwrap_err(), expected, "{text}");
    };
    let with = |members: &str| format!(r#"{{"jsonrpc":"2.0",{members}}}"#);
    for text in ["1", "\"x\"", "null", "true"] {
        check(text, "a message must be a JSON object", None);
    }
    let version = r#"'jsonrpc' must be "2.0""#;
    check("{}", version, None);
    check(r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, version, Some("1"));
    check(r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#, version, Some("\"x\""));
    check(&with(r#""id":1"#), "'method' is missing", Some("1"));
    check(&with(r#""id":1,"method":7"#), "'method' must be a string", Some("1"));
    check(&with(r#""id":1,"method":null"#), "'method' must be a string", Some("1"));
    for params in ["[]", "null", "1", "\"x\""] {
        check(
            &with(&format!(r#""id":1,"method":"ping","params":{params}"#)),
            "'params' must be an object",
            Some("1"),
        );
    }
    check(&with(r#""id":null,"method":"ping""#), "'id' must not be null", None);
    check(&with(r#""id":null,"result":{}"#), "'id' must not be null", None);
    for id in ["1.5", "1e-3", "-0.1", "1e999"] {
        let fraction = "'id' must be a string or a whole number, not a fraction";
        check(&with(&format!(r#""id":{id},"method":"ping""#)), fraction, None);
        check(&format!(r#"{{"id":{id},"method":"ping"}}"#), version, None);
    }
    for id in ["{}", "[1]", "true"] {
        check(
            &with(&format!(r#""id":{id},"method":"ping""#)),
            "'id' must be a string or a whole number",
            None,
        );
    }
    check(&with(r#""result":{}"#), "an answer must have an 'id'", None);
    for result in ["[]", "null", "1", "\"x\""] {
        check(&with(&format!(r#""id":1,"result":{result}"#)), "'result' must be an object", Some("1"));
    }
    check(&with(r#""id":1,"error":"x""#), "'error' must be an object", Some("1"));
    check(&with(r#""id":1,"error":{}"#), "'error.code' must be a number", Some("1"));
    check(&with(r#""id":1,"error":{"code":"x"}"#), "'error.code' must be a number", Some("1"));
    let one_of = "a message has one of 'method', 'result' and 'error'";
    check(&with(r#""id":1,"method":"ping","result":{}"#), one_of, Some("1"));
    check(&with(r#""id":1,"error":{"code":1},"result":{}"#), one_of, Some("1"));
    check(
        &with(r#""id":1,"params":{"_meta":{}},"result":{}"#),
        "an answer must not have 'params'",
        Some("1"),
    );
    check(&with(r#""id":1,"error":{"code":1},"params":{}"#), "an answer must not have 'params'", Some("1"));
    check(
        &with(r#""id":1,"method":"ping","params":{"_meta":null}"#),
        "'params._meta' must be an object",
        Some("1"),
    );
    check(&with(r#""id":1,"result":{"_meta":[]}"#), "'result._meta' must be an object", Some("1"));
    check(&with(r#""id":1,"id":2,"method":"ping""#), "'id' is written twice", Some("2"));
    check(
        &with(r#""id":1,"method":"ping","m\u0065thod":"tools/call""#),
        "'method' is written twice",
        Some("1"),
    );
    check(
        &with(r#""id":1,"method":"x","params":{"name":"a","n\u0061me":"b"}"#),
        "'name' is written twice",
        Some("1"),
    );
    check(
        &with(r#""id":1,"method":"x","params":{"_meta":{"progressToken":1,"progressToken":2}}"#),
        "'progressToken' is written twice",
        Some("1"),
    );
}

#[test]
fn members_are_found_where_they_stand() {
    let message = readable(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"name":"inner"},"n\u0061me":"e\u0063ho","other":{"uri":"x"},"_meta":{"traceparent":"00-1","io.modelcontextprotocol/logLevel":"info","x":{"progressToken":1}}}}"#,
    );
    assert_eq!(message.field(Field::Name), Some(br#""e\u0063ho""#.as_slice()));
    assert_eq!(message.field_text(Field::Name).as_deref(), Some("echo"));
    assert_eq!(message.field(Field::Arguments), Some(br#"{"name":"inner"}"#.as_slice()));
    assert_eq!(message.field_bytes(Field::Arguments).as_deref(), message.field(Field::Arguments));
    assert_eq!(message.field(Field::Uri), None, "members of members are not members");
    assert_eq!(message.meta_text(MetaField::TraceParent).as_deref(), Some("00-1"));
    assert_eq!(message.meta_text(MetaField::LogLevel).as_deref(), Some("info"));
    assert_eq!(message.meta(MetaField::ProgressToken), None);
}

#[test]
fn each_known_member_is_found_by_its_name() {
    for field in Field::ALL.into_iter().filter(|field| *field != Field::Meta) {
        let message =
            readable(&format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"{}":"here"}}}}"#, field.key()));
        for other in Field::ALL {
            assert_eq!(message.field(other).is_some(), other == field, "{other:?}");
        }
    }
    for field in MetaField::ALL {
        let text =
            format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"_meta":{{"{}":1}}}}}}"#, field.key());
        for other in MetaField::ALL {
            assert_eq!(readable(&text).meta(other).is_some(), other == field, "{other:?}");
        }
    }
}

#[test]
fn a_batch_is_told_apart_and_split() {
    let split = |text: &str| split_batch(&Bytes::copy_from_slice(text.as_bytes()), 3);
    assert_eq!(parse("[]").unwrap_err(), Unreadable::Batch);
    assert!(matches!(parse("[1,").unwrap_err(), Unreadable::NotJson(_)));
    let messages = split(r#" [ {"jsonrpc":"2.0","method":"ping"}, 7 ] "#).unwrap();
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0].as_ref().unwrap().method(), Some(Method::Ping));
    assert!(matches!(messages[1], Err(Unreadable::NotAMessage { .. })));
    let refused = |text: &str| split(text).unwrap_err().to_string();
    assert_eq!(refused("[]"), "a batch must have at least one message");
    assert_eq!(refused("[1,2,3,4]"), "a batch may have at most 3 messages");
    assert_eq!(refused("[1] 2"), "unexpected text after the value at byte 4");
    assert_eq!(refused("{}"), "expected an array at byte 0");
}

#[test]
fn empty_text_is_said_to_be_empty() {
    for text in ["", " \n"] {
        assert_eq!(parse(text).unwrap_err().to_string(), "the text is empty at byte 0");
    }
}

/// A message of any kind with members nobody knows.
fn any_message() -> impl Strategy<Value = String> {
    let id = prop_oneof![any::<i128>().prop_map(|id| id.to_string()), string()];
    let body = proptest::collection::vec(any_json(), 0..4).prop_flat_map(|values| {
        let unknown = values.into_iter().enumerate().map(|(at, value)| (format!("\"x{at}\""), value));
        object(unknown.chain([("\"code\"".to_owned(), "1".to_owned())]).collect())
    });
    (id, body, any_json(), 0..3_u8).prop_flat_map(|(id, body, other, kind)| {
        let member = |key: &str, value: String| (format!("\"{key}\""), value);
        let mut members = vec![member("jsonrpc", "\"2.0\"".into()), member("id", id), member("other", other)];
        match kind {
            0 => members.extend([member("method", "\"tools/call\"".into()), member("params", body)]),
            1 => members.push(member("result", body)),
            _ => members.push(member("error", body)),
        }
        Just(members).prop_shuffle().prop_flat_map(object)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Property 1: what is read and written again is the same message, to the byte.
    #[test]
    fn a_message_survives_reading(text in any_message()) {
        let message = readable(&text);
        prop_assert_eq!(message.bytes().as_ref(), text.as_bytes());
        let (id, body) = (message.id().unwrap_or_default(), message.body().unwrap_or_default());
        let again = match message.kind() {
            Kind::Result => crate::error::result_answer(id, body),
            Kind::Error => crate::error::error_answer(id, body),
            Kind::Request | Kind::Notification => return Ok(()),
        };
        let again = Message::parse(again).unwrap();
        prop_assert_eq!(again.kind(), message.kind());
        prop_assert_eq!((again.id(), again.body()), (message.id(), message.body()));
    }

    /// Property 5: whatever is refused gets an error with the right code, a reason, and the id where there is one.
    #[test]
    fn a_refusal_is_a_proper_error(text in prop_oneof![nearly_json(), any_message().prop_map(|text| text.replacen("2.0", "2.1", 1))]) {
        let Err(refusal) = parse(&text) else { return Ok(()) };
        let code = if matches!(refusal, Unreadable::NotJson(_)) { -32700 } else { -32600 };
        for era in [Era::Legacy, Era::Modern] {
            let answer = refusal.reply().answer(refusal.id(), era);
            let read: serde_json::Value = serde_json::from_slice(&answer).unwrap();
            prop_assert_eq!(&read["jsonrpc"], "2.0");
            prop_assert_eq!(&read["error"]["code"], code);
            prop_assert!(read["error"]["message"].as_str().is_some_and(|message| message.len() > 15));
            prop_assert_eq!(Message::parse(answer.clone()).unwrap().kind(), Kind::Error);
            prop_assert_eq!(refusal.id().is_some(), !read["id"].is_null());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let bytes = Bytes::from(bytes);
        let _ = Message::parse(bytes.clone()).map(|message| (message.method(), message.kind()));
        let _ = split_batch(&bytes, 10);
    }
}
