//! What a legacy client says of itself, in a size that is worth keeping.
//!
//! All of it is sealed into the id of its session, which the client sends back as a header with every request. Servers
//! of clients take 16 KiB of headers and often less.

use bytes::Bytes;
use serde_json::{Map, Value};
use toolgate_protocol::Object;

/// How long capabilities may be. The longest known ones have a few hundred bytes.
const MAX_CAPABILITIES: usize = 4 * 1024;
/// Up to which length what a client says of itself is kept as it wrote it.
const WHOLE_INFO: usize = 1024;
/// What is kept of a longer one, and how many characters of each.
const KEPT: [&str; 3] = ["name", "title", "version"];
const MAX_TEXT: usize = 200;

/// The client says that it can do more than anybody could read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'params.capabilities' has {0} bytes; at most {MAX_CAPABILITIES} are taken")]
pub struct TooLong(usize);

/// The capabilities, as the client wrote them.
pub fn capabilities(said: &[u8]) -> Result<Bytes, TooLong> {
    if said.len() > MAX_CAPABILITIES {
        return Err(TooLong(said.len()));
    }
    // A copy: what is kept outlives the request, whose bytes must not.
    Ok(Bytes::copy_from_slice(said))
}

/// `clientInfo`: as it was written where it is short, else only the texts that servers go by. Icons are for those who
/// draw them.
pub fn client_info(said: &[u8]) -> Bytes {
    if said.len() <= WHOLE_INFO {
        return Bytes::copy_from_slice(said);
    }
    let mut kept = Map::new();
    if let Ok(said) = Object::parse(said) {
        for key in KEPT {
            if let Some(text) = said.text(key) {
                kept.insert(key.to_owned(), Value::String(text.chars().take(MAX_TEXT).collect()));
            }
        }
    }
    Bytes::from(Value::Object(kept).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_short_stays_and_what_is_long_loses_what_nobody_needs() {
        let short = br#"{"version":"1", "name":"n", "icons":[]}"#;
        assert_eq!(&client_info(short)[..], short);
        let icon = format!("data:image/png;base64,{}", "A".repeat(50_000));
        let long = json!({"name": "n".repeat(900), "title": "t", "version": "1", "icons": [{"src": icon}]});
        let kept: Value = serde_json::from_slice(&client_info(long.to_string().as_bytes())).unwrap();
        assert_eq!(kept, json!({"name": "n".repeat(MAX_TEXT), "title": "t", "version": "1"}));
    }

    #[test]
    fn capabilities_have_a_bound() {
        assert_eq!(&capabilities(br#"{"roots":{}}"#).unwrap()[..], br#"{"roots":{}}"#);
        let long = vec![b' '; MAX_CAPABILITIES + 1];
        assert_eq!(capabilities(&long), Err(TooLong(MAX_CAPABILITIES + 1)));
    }
}
