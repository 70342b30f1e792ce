//! The headers of 2026-07-28 that repeat parts of the body, and their check.

pub mod parameter;

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Names of the headers, in lower case.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
pub const METHOD: &str = "mcp-method";
pub const NAME: &str = "mcp-name";
pub const SESSION_ID: &str = "mcp-session-id";
pub const PARAMETER_PREFIX: &str = "mcp-param-";

const BASE64_BEGIN: &str = "=?base64?";
const BASE64_END: &str = "?=";

/// A value as it may stand in a header: as it is, or in base64 where a header cannot carry it.
pub fn encode(value: &str) -> Cow<'_, str> {
    let plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let padded = value.starts_with(' ') || value.ends_with(' ');
    let looks_encoded = value.starts_with(BASE64_BEGIN) && value.ends_with(BASE64_END);
    if plain && !padded && !looks_encoded {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("{BASE64_BEGIN}{}{BASE64_END}", STANDARD.encode(value)))
}

/// The value that a header carries; nothing where it says base64 and is not, or has characters no header may have.
pub fn decode(header: &str) -> Option<Cow<'_, str>> {
    if !header.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
        return None;
    }
    let encoded = header.strip_prefix(BASE64_BEGIN).and_then(|rest| rest.strip_suffix(BASE64_END));
    let Some(encoded) = encoded else { return Some(Cow::Borrowed(header)) };
    let bytes = STANDARD.decode(encoded).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests;
