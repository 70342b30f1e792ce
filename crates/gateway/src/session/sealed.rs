//! Session ids that hold the session: what `initialize` said, sealed. Any replica can serve them.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolgate_protocol::{Era, Version, era::Envelope};

use crate::principal::Principal;
use crate::seal::{Purpose, Seal, SealError};
use crate::session::Session;

/// What a session id holds.
#[derive(Serialize, Deserialize)]
struct Content<'a> {
    key: u64,
    version: &'a str,
    caller: &'a str,
    #[serde(borrow)]
    capabilities: &'a RawValue,
    #[serde(borrow)]
    client_info: Option<&'a RawValue>,
}

/// The id of a session.
pub fn seal(seal: &Seal, session: &Session) -> Result<String, SealError> {
    let caller = session.caller();
    let raw = |bytes: &Bytes| {
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| SealError)?;
        RawValue::from_string(text).map_err(|_| SealError)
    };
    let capabilities = raw(&caller.envelope.capabilities)?;
    let client_info = caller.envelope.client_info.as_ref().map(raw).transpose()?;
    let content = Content {
        key: session.key,
        version: session.version().date(),
        caller: &session.principal.id,
        capabilities: &capabilities,
        client_info: client_info.as_deref(),
    };
    let content = serde_json::to_vec(&content).map_err(|_| SealError)?;
    seal.seal(Purpose::Session, &content)
}

/// The session that an id holds; nothing where we did not make it, or made it for another caller.
pub fn open(seal: &Seal, id: &str, principal: &Arc<Principal>) -> Option<Session> {
    let content = seal.open(Purpose::Session, id)?;
    let content: Content<'_> = serde_json::from_slice(&content).ok()?;
    if *content.caller != *principal.id {
        return None;
    }
    let raw = |value: &RawValue| Bytes::copy_from_slice(value.get().as_bytes());
    let envelope = Envelope::new(Era::Legacy, raw(content.capabilities), content.client_info.map(raw));
    let version = Version::dated(content.version)?;
    Some(Session::new(content.key, version, Arc::clone(principal), envelope))
}
