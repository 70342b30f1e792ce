//! Calls in short: all that a worker of ours has to be told of a call whose handler looks at nothing but its arguments.
//!
//! A line `[id,"name",{…},"mark"]`. The mark is that of the schema that the arguments were found to fit, as the worker
//! listed it: one that has another schema by now checks them itself. The answer is that of a legacy server, which says no
//! more than what came of the call. The worker says in the `_meta` of its first answer that it reads such lines; nobody
//! else is sent any.

use crate::era::Era;
use crate::message::{Field, Message};
use crate::method::Method;
use crate::object;
use crate::text;

/// In the `_meta` of a worker's first answer: it reads calls in short.
const UNDERSTOOD: &str = "io.toolgate/short-calls";

/// How calls in short are answered.
pub const ANSWER_ERA: Era = Era::Legacy;

/// Whether the first answer of a server says that it reads calls in short.
pub fn is_understood(answer: &Message) -> bool {
    let meta = answer.field(Field::Meta);
    meta.and_then(|meta| object::value_of(meta, UNDERSTOOD)) == Some(b"true")
}

/// A call in short. `native` is what the server calls the tool, where the client has another name for it. Nothing where
/// the request is no call, or carries an earlier one on.
pub fn write(id: u64, native: Option<&str>, mark: &str, message: &Message) -> Option<Vec<u8>> {
    if message.method() != Some(Method::ToolsCall) || message.place(Field::RequestState).is_some() {
        return None;
    }
    let quoted = native.map(text::quote);
    let name = quoted.as_deref().map(str::as_bytes).or_else(|| message.field(Field::Name))?;
    let arguments = message.field(Field::Arguments).unwrap_or(b"{}");
    let (id, mark) = (id.to_string(), text::quote(mark));
    Some([b"[", id.as_bytes(), b",", name, b",", arguments, b",", mark.as_bytes(), b"]"].concat())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn message(text: &str) -> Message {
        Message::parse(Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    #[test]
    fn a_call_is_its_id_its_name_and_its_arguments() {
        let check = |params: &str, native: Option<&str>, expected: Option<&str>| {
            let call = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{params}}}"#);
            let written =
                write(7, native, "m", &message(&call)).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(written.as_deref(), expected, "{params}");
        };
        check(r#"{"name":"t"}"#, None, Some(r#"[7,"t",{},"m"]"#));
        check(
            r#"{"_meta":{"progressToken":1},"arguments":{ "x": 1.50 },"name":"\u0074"}"#,
            None,
            Some(r#"[7,"\u0074",{ "x": 1.50 },"m"]"#),
        );
        check(r#"{"name":"s__t","arguments":{}}"#, Some("t \"1\""), Some(r#"[7,"t \"1\"",{},"m"]"#));
        check(r#"{"name":"t","requestState":"s"}"#, None, None);
        assert_eq!(write(7, None, "m", &message(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)), None);
    }

    #[test]
    fn only_who_says_so_understands() {
        let check = |result: &str, expected: bool| {
            let answer = message(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
            assert_eq!(is_understood(&answer), expected, "{result}");
        };
        check(r#"{"_meta":{"io.toolgate/short-calls":true}}"#, true);
        check(r#"{"_meta":{"io.toolgate/short-calls":1}}"#, false);
        check(r#"{"io.toolgate/short-calls":true,"_meta":{}}"#, false);
        check("{}", false);
    }
}
