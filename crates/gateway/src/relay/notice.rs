//! Notifications of a server on their way to a client.

use bytes::Bytes;
use toolgate_protocol::{Era, Method, Object, Splice};

use crate::relay::Asked;
use crate::session::Client;

/// The levels of log messages, least severe first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// How severe a level is; nothing for a word that is none.
pub fn severity(level: &str) -> Option<usize> {
    LEVELS.iter().position(|known| *known == level)
}

/// A notification as a whole message.
pub fn write(method: &str, params: Option<&[u8]>) -> Bytes {
    let mut out = Vec::with_capacity(method.len() + params.map_or(0, <[u8]>::len) + 48);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":""#);
    out.extend_from_slice(method.as_bytes());
    out.push(b'"');
    if let Some(params) = params {
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(params);
    }
    out.push(b'}');
    Bytes::from(out)
}

/// Progress under the client's own token; nothing where it wants to hear none.
pub fn progress(params: &[u8], token: Option<&[u8]>) -> Option<Bytes> {
    let token = token?;
    let place = Object::parse(params).ok()?.place("progressToken")?;
    let mut splice = Splice::new(params, token.len());
    splice.replace(place, token);
    Some(write(Method::Progress.name(), Some(&splice.finish())))
}

/// How far a server says it is.
pub fn progress_made(params: &[u8]) -> Option<f64> {
    let made = serde_json::from_slice(Object::parse(params).ok()?.get("progress")?).ok();
    made.filter(|made: &f64| made.is_finite())
}

/// Whether the client wants to hear this log message: of the level it chose and above. A modern client that chose none
/// must not hear any; a legacy one hears what the server chooses.
pub fn log_wanted(params: &[u8], client: &Client, asked: &Asked) -> bool {
    let chosen = match client.era() {
        Era::Modern => match &asked.log_level {
            Some(level) => severity(level),
            None => return false,
        },
        Era::Legacy => client.caller().log_level.as_deref().and_then(severity),
    };
    let Some(chosen) = chosen else { return true };
    let level =
        Object::parse(params).ok().and_then(|params| params.text("level").and_then(|level| severity(&level)));
    level.is_none_or(|level| level >= chosen)
}
