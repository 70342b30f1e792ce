//! `GET /skills/{category}/{name}`: skills for programs that speak no MCP.
//!
//! A request becomes a `resources/read` of `skill://…` and takes the way of all others, so it is allowed, counted and
//! recorded like any other read. Only what HTTP adds happens here: entity tags, ranges, statuses.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::{Value, json};
use toolgate_protocol::era::Envelope;
use toolgate_protocol::message::MetaField;
use toolgate_protocol::{Message, Version};
use toolgate_skills::ByteRange;

use crate::downstream::admit;
use crate::downstream::body::Body;
use crate::downstream::respond;
use crate::gateway::Gateway;
use crate::pipeline::{self, Outcome};
use crate::principal::Principal;
use crate::relay::Piece;

/// Where skills are.
pub const PREFIX: &str = "/skills/";
/// In the `_meta` of contents: their entity tag.
const TAG: &str = "io.toolgate/etag";

/// A file as it was read.
struct Contents {
    bytes: Bytes,
    media_type: String,
    etag: Option<String>,
    /// What is left of quotas.
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Answers a request for a skill.
pub async fn get(
    gateway: &Arc<Gateway>,
    request: &Request<Incoming>,
    principal: &Arc<Principal>,
) -> Response<Body> {
    let target = request.uri().path_and_query().map_or("", http::uri::PathAndQuery::as_str);
    let uri = format!("skill://{}", target.strip_prefix(PREFIX).unwrap_or_default());
    match read(gateway, &uri, principal).await {
        Ok(contents) => respond(contents, request.headers()),
        Err(response) => *response,
    }
}

async fn read(
    gateway: &Arc<Gateway>,
    uri: &str,
    principal: &Arc<Principal>,
) -> Result<Contents, Box<Response<Body>>> {
    let unusable = || Box::new(respond::words(StatusCode::BAD_GATEWAY, "the skill could not be read"));
    let meta = json!({
        MetaField::ProtocolVersion.key(): Version::NEWEST.date(),
        MetaField::ClientCapabilities.key(): {},
    });
    let params = json!({"uri": uri, "_meta": meta});
    let request = json!({"jsonrpc": "2.0", "id": 0, "method": "resources/read", "params": params});
    let message = Message::parse(Bytes::from(request.to_string())).map_err(|_| unusable())?;
    let envelope = Envelope::of_modern_request(&message).ok_or_else(unusable)?;
    let client = admit::modern(envelope, principal);
    let (answer, headers) = match pipeline::handle(gateway, &client, &message, None).await {
        Outcome::Answer(last) => (last.bytes, last.headers),
        Outcome::Passage(mut passage) => loop {
            match passage.next().await {
                // Nobody here listens to progress.
                Piece::Message(_) => {}
                Piece::Last(last) => break (last.bytes, last.headers),
                Piece::Cancelled => return Err(unusable()),
            }
        },
        Outcome::Listening(_) | Outcome::Taken => return Err(unusable()),
    };
    let answer: Value = serde_json::from_slice(&answer).map_err(|_| unusable())?;
    if let Some(error) = answer.get("error") {
        return Err(Box::new(refused(error)));
    }
    let first = answer.pointer("/result/contents/0").ok_or_else(unusable)?;
    let text = |key: &str| first.get(key).and_then(Value::as_str);
    let bytes = match (text("text"), text("blob")) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(blob)) => STANDARD.decode(blob).map_err(|_| unusable())?,
        (None, None) => return Err(unusable()),
    };
    let charset = if text("text").is_some() { "; charset=utf-8" } else { "" };
    let etag = first.get("_meta").and_then(|meta| meta.get(TAG)).and_then(Value::as_str);
    Ok(Contents {
        bytes: Bytes::from(bytes),
        media_type: format!("{}{charset}", text("mimeType").unwrap_or("application/octet-stream")),
        etag: etag.map(str::to_owned),
        headers,
    })
}

fn respond(contents: Contents, asked: &HeaderMap) -> Response<Body> {
    let text = |name: HeaderName| asked.get(name).and_then(|value| value.to_str().ok());
    let etag = contents.etag.as_deref();
    let is_known = text(IF_NONE_MATCH).zip(etag).is_some_and(|(tags, etag)| is_among(etag, tags));
    // A part of what the caller has another version of would not fit it.
    let is_same = text(IF_RANGE).is_none_or(|tag| Some(tag) == etag);
    let range = text(RANGE).and_then(ByteRange::parse_header).filter(|_| is_same);
    let length = contents.bytes.len();
    let (status, body, part) = match range.map(|range| range.within(length)) {
        _ if is_known => (StatusCode::NOT_MODIFIED, Bytes::new(), None),
        None => (StatusCode::OK, contents.bytes, None),
        Some(Ok(range)) => {
            let part = format!("bytes {}-{}/{length}", range.start, range.end.saturating_sub(1));
            (StatusCode::PARTIAL_CONTENT, contents.bytes.slice(range), Some(part))
        }
        Some(Err(_)) => (StatusCode::RANGE_NOT_SATISFIABLE, Bytes::new(), Some(format!("bytes */{length}"))),
    };
    let mut response = Response::new(Body::Whole(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let stated = [(CONTENT_TYPE, Some(contents.media_type)), (ETAG, contents.etag), (CONTENT_RANGE, part)];
    for (name, value) in stated {
        if let Some(Ok(value)) = value.map(|value| HeaderValue::from_str(&value)) {
            headers.insert(name, value);
        }
    }
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    // A file of a skill may be a page: it must not act in the name of this address.
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    headers.extend(contents.headers.into_iter().map(|(name, value)| (Some(name), value)));
    response
}

/// Whether the value of `If-None-Match` names this tag, weak or strong.
fn is_among(etag: &str, tags: &str) -> bool {
    tags.split(',').map(str::trim).any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// An error of the read, as HTTP says it.
fn refused(error: &Value) -> Response<Body> {
    let retry_after = error.pointer("/data/retry_after").and_then(Value::as_f64);
    let status = match error.get("code").and_then(Value::as_i64) {
        Some(-32602 | -32002) => StatusCode::NOT_FOUND,
        Some(-32003) if retry_after.is_some() => StatusCode::TOO_MANY_REQUESTS,
        Some(-32003) => StatusCode::FORBIDDEN,
        Some(-32004) => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    };
    let words = error.get("message").and_then(Value::as_str).unwrap_or("the skill could not be read");
    let mut response = respond::words(status, words);
    let seconds = retry_after.map(|seconds| HeaderValue::from_str(&format!("{:.0}", seconds.ceil())));
    if let Some(Ok(seconds)) = seconds {
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents() -> Contents {
        Contents {
            bytes: Bytes::from_static(b"0123456789"),
            media_type: "text/plain".to_owned(),
            etag: Some("\"a\"".to_owned()),
            headers: Vec::new(),
        }
    }

    #[test]
    fn conditions_and_ranges_are_answered_as_http_says() {
        let check = |asked: &[(HeaderName, &'static str)], status: u16, body: &str, range: Option<&str>| {
            let asked: HeaderMap =
                asked.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
            let response = respond(contents(), &asked);
            assert_eq!(response.status().as_u16(), status, "{asked:?}");
            let stated = response.headers().get(CONTENT_RANGE).map(|value| value.to_str().unwrap());
            assert_eq!(stated, range, "{asked:?}");
            let Body::Whole(bytes) = response.into_body() else { panic!("a stream") };
            assert_eq!(bytes, body.as_bytes(), "{asked:?}");
        };
        check(&[], 200, "0123456789", None);
        check(&[(IF_NONE_MATCH, "\"a\"")], 304, "", None);
        check(&[(IF_NONE_MATCH, "\"b\", W/\"a\"")], 304, "", None);
        check(&[(IF_NONE_MATCH, "\"b\"")], 200, "0123456789", None);
        check(&[(RANGE, "bytes=2-4")], 206, "234", Some("bytes 2-4/10"));
        check(&[(RANGE, "bytes=-2")], 206, "89", Some("bytes 8-9/10"));
        check(&[(RANGE, "bytes=20-")], 416, "", Some("bytes */10"));
        check(&[(RANGE, "lines=1-2")], 200, "0123456789", None);
        check(&[(RANGE, "bytes=2-4"), (IF_RANGE, "\"b\"")], 200, "0123456789", None);
        check(&[(RANGE, "bytes=2-4"), (IF_NONE_MATCH, "\"a\"")], 304, "", None);
    }

    #[test]
    fn errors_have_their_statuses() {
        let check =
            |error: Value, expected: u16| assert_eq!(refused(&error).status().as_u16(), expected, "{error}");
        check(json!({"code": -32602, "message": "?"}), 404);
        check(json!({"code": -32003, "data": {"retry_after": null}}), 403);
        check(json!({"code": -32003, "data": {"retry_after": 2.5}}), 429);
        check(json!({"code": -32004}), 504);
        check(json!({"code": -32603}), 502);
    }
}
