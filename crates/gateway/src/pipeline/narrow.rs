//! What a request asks to leave out of what its caller may see: in `_meta`, or in a header where a client cannot set that.
//!
//! It only ever takes away. A wish that cannot be read ends the request, because going on without it would show more
//! than was asked for.

use http::HeaderName;
use serde::Deserialize;
use toolgate_governance::{Narrowing, NarrowingError};
use toolgate_protocol::message::MetaField;
use toolgate_protocol::{Code, ErrorReply, Message};

use crate::downstream::headers::{self, Headers};

/// The header: names and patterns of the tools that are wanted, separated by commas; with `!`, of those that are not.
pub static HEADER: HeaderName = HeaderName::from_static("x-toolgate-tools");

/// The wish in `_meta`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wish {
    servers: Option<Vec<String>>,
    allowed_tools: Option<Vec<String>>,
    denied_tools: Vec<String>,
}

/// What a request leaves out; nothing where it has no wish. With two wishes, what both leave is left.
pub fn of(message: &Message, headers: Option<Headers<'_>>) -> Result<Option<Narrowing>, ErrorReply> {
    let stated = message.meta(MetaField::Narrow).map(in_meta).transpose()?;
    let headed = headers.filter(|headers| headers.has(&HEADER)).map(in_header).transpose()?;
    Ok(match (stated, headed) {
        (Some(stated), Some(headed)) => Some(stated.and(headed)),
        (stated, headed) => stated.or(headed),
    })
}

/// Reads a wish as it stands in the header.
pub fn patterns(text: &str) -> Result<Narrowing, NarrowingError> {
    let (denied, allowed): (Vec<&str>, Vec<&str>) =
        text.split(',').map(str::trim).partition(|pattern| pattern.starts_with('!'));
    let denied: Vec<String> =
        denied.iter().filter_map(|one| one.strip_prefix('!')).map(str::to_owned).collect();
    let allowed: Vec<String> = allowed.into_iter().map(str::to_owned).collect();
    // Who only says what is not wanted wants the rest.
    let allowed = (!allowed.is_empty()).then_some(allowed);
    Narrowing::new(None, allowed.as_deref(), &denied)
}

fn in_meta(json: &[u8]) -> Result<Narrowing, ErrorReply> {
    let unreadable = |error: &dyn std::fmt::Display| {
        let key = MetaField::Narrow.key();
        ErrorReply::new(
            Code::InvalidParams,
            format!("'params._meta' has a '{key}' that cannot be used: {error}"),
        )
    };
    let wish: Wish = serde_json::from_slice(json).map_err(|error| unreadable(&error))?;
    Narrowing::new(wish.servers.as_deref(), wish.allowed_tools.as_deref(), &wish.denied_tools)
        .map_err(|error| unreadable(&error))
}

fn in_header(headers: Headers<'_>) -> Result<Narrowing, ErrorReply> {
    let unreadable = |error: &dyn std::fmt::Display| {
        let what = format!("the header 'X-Toolgate-Tools' cannot be used: {error}");
        ErrorReply::new(Code::InvalidParams, what)
    };
    let values: Option<Vec<&str>> = headers.all(&HEADER).into_iter().map(headers::plain).collect();
    let text = values.ok_or_else(|| unreadable(&"it is no plain text"))?.join(",");
    patterns(&text).map_err(|error| unreadable(&error))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use toolgate_governance::Subject;

    use super::*;

    /// Which of four tools are left.
    fn left(meta: &str, header: &[&str]) -> Result<Vec<&'static str>, String> {
        let request =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#);
        let mut headers = http::HeaderMap::new();
        for value in header {
            headers.append(HEADER.clone(), value.parse().unwrap());
        }
        let narrowing = of(&Message::parse(Bytes::from(request)).unwrap(), Some(Headers::from(&headers)))
            .map_err(|reply| {
                assert_eq!(reply.code, Code::InvalidParams);
                reply.message
            })?;
        let all = [("fs", "fs__read"), ("fs", "fs__write"), ("git", "git__log"), ("git", "git__push")];
        let is_left = |server, name| {
            let subject = Subject::tool(server, "native").exposed_as(name);
            narrowing.as_ref().is_none_or(|narrowing| narrowing.leaves(&subject))
        };
        Ok(all.into_iter().filter(|(server, name)| is_left(server, name)).map(|(_, name)| name).collect())
    }

    #[test]
    fn wishes_take_away() {
        let check = |meta: &str, header: &[&str], expected: &[&str]| {
            assert_eq!(left(meta, header).unwrap(), expected, "{meta} {header:?}");
        };
        check("", &[], &["fs__read", "fs__write", "git__log", "git__push"]);
        check(r#""io.toolgate/narrow":{"servers":["fs"]}"#, &[], &["fs__read", "fs__write"]);
        check(
            r#""io.toolgate/narrow":{"allowed_tools":["*__read","git__*"],"denied_tools":["git__push"]}"#,
            &[],
            &["fs__read", "git__log"],
        );
        check(r#""io.toolgate/narrow":{"allowed_tools":[]}"#, &[], &[]);
        check("", &["fs__*, git__log"], &["fs__read", "fs__write", "git__log"]);
        check("", &["fs__*", "!fs__write"], &["fs__read"]);
        check("", &["!git__*"], &["fs__read", "fs__write"]);
        check(r#""io.toolgate/narrow":{"servers":["fs"]}"#, &["*__read, *__push"], &["fs__read"]);
    }

    #[test]
    fn a_wish_that_cannot_be_read_ends_the_request() {
        let check = |meta: &str, header: &[&str], words: &str| {
            let message = left(meta, header).unwrap_err();
            assert!(message.contains(words), "{message}");
        };
        check(r#""io.toolgate/narrow":["fs"]"#, &[], "'io.toolgate/narrow'");
        check(r#""io.toolgate/narrow":{"tools":["fs"]}"#, &[], "unknown field `tools`");
        check(r#""io.toolgate/narrow":{"allowed_tools":[""]}"#, &[], "the pattern is empty");
        check("", &[""], "'X-Toolgate-Tools'");
        check("", &["fs__read,"], "the pattern is empty");
        check("", &["!"], "the pattern is empty");
    }
}
