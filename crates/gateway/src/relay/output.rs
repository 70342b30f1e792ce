//! What is put into an answer on its way out: what is left of quotas.

use bytes::Bytes;
use toolgate_governance::Remaining;
use toolgate_protocol::message::Field;
use toolgate_protocol::{Kind, Message, Object, Splice};

/// Where an answer tells what is left of quotas.
const QUOTA: &str = "io.toolgate/quota";

/// The answer, with what is left of quotas if there are any.
pub fn with_quotas(answer: Bytes, remaining: &[Remaining]) -> Bytes {
    if remaining.is_empty() {
        return answer;
    }
    let quotas = serde_json::to_string(remaining).ok();
    quotas.and_then(|quotas| with_member(&answer, QUOTA, &quotas)).unwrap_or(answer)
}

/// The answer with one more member: in the `_meta` of a result, or in the `data` of an error, which has no `_meta`. Nothing
/// where such `data` is no object, or has the member already.
fn with_member(answer: &Bytes, key: &str, value: &str) -> Option<Bytes> {
    let message = Message::parse(answer.clone()).ok()?;
    let body = message.body_place()?;
    let member = format!(r#""{key}":{value}"#);
    let (field, name) = match message.kind() {
        Kind::Error => (Field::Data, "data"),
        _ => (Field::Meta, "_meta"),
    };
    let mut splice = Splice::new(answer, member.len() + 16);
    let there = message.place(field);
    match there.map(|place| Object::parse(place.of(answer))) {
        Some(Ok(object)) if object.get(key).is_none() => {
            splice.insert_members(there?, member.as_bytes());
        }
        Some(Ok(_)) => return None,
        Some(Err(_)) if message.kind() == Kind::Error => return None,
        _ => {
            splice.insert_members(body, format!(r#""{name}":{{{member}}}"#).as_bytes());
        }
    }
    Some(Bytes::from(splice.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_put_beside_what_is_there() {
        let check = |body: &str, expected: Option<&str>| {
            let message = |body: &str| format!(r#"{{"jsonrpc":"2.0","id":1,{body}}}"#);
            let with = with_member(&Bytes::from(message(body)), "q", "[]");
            assert_eq!(with, expected.map(|body| Bytes::from(message(body))), "{body}");
        };
        check(
            r#""result":{"_meta":{"a":1},"content":[]}"#,
            Some(r#""result":{"_meta":{"q":[],"a":1},"content":[]}"#),
        );
        check(r#""result":{}"#, Some(r#""result":{"_meta":{"q":[]}}"#));
        check(r#""error":{"code":1}"#, Some(r#""error":{"data":{"q":[]},"code":1}"#));
        check(
            r#""error":{"code":1,"data":{"a":1.0}}"#,
            Some(r#""error":{"code":1,"data":{"q":[],"a":1.0}}"#),
        );
        check(r#""error":{"code":1,"data":{"q":1}}"#, None);
        check(r#""error":{"code":1,"data":"text"}"#, None);
    }
}
