//! What is put into a result on its way out: what is left of quotas.

use bytes::Bytes;
use toolgate_protocol::message::Field;
use toolgate_protocol::{Kind, Message, Object, Span, Splice};

/// The answer with one more member in the `_meta` of its result; nothing for an error.
pub fn with_meta(answer: &Bytes, member: &str) -> Option<Bytes> {
    let message = Message::parse(answer.clone()).ok().filter(|message| message.kind() == Kind::Result)?;
    let result = message.body_place()?;
    let mut splice = Splice::new(answer, member.len() + 16);
    match message.place(Field::Meta) {
        Some(meta) if is_object(meta, answer) => {
            splice.insert_members(meta, member.as_bytes());
        }
        _ => {
            splice.insert_members(result, format!(r#""_meta":{{{member}}}"#).as_bytes());
        }
    }
    Some(Bytes::from(splice.finish()))
}

fn is_object(place: Span, bytes: &[u8]) -> bool {
    Object::parse(place.of(bytes)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_put_beside_what_is_there() {
        let answer =
            Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1},"content":[]}}"#);
        let with = with_meta(&answer, r#""q":[]"#).unwrap();
        assert_eq!(&with[..], br#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"q":[],"a":1},"content":[]}}"#);
        let answer = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        let with = with_meta(&answer, r#""q":[]"#).unwrap();
        assert_eq!(&with[..], br#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"q":[]}}}"#);
    }
}
