//! What a request says of its client, apart from what it asks.

use std::borrow::Cow;

use bytes::Bytes;

use crate::era::Era;
use crate::message::{Message, MetaField};
use crate::scan::Shape;
use crate::text;
use crate::version::Version;

/// Who asks, as the protocol tells it: in `initialize` (legacy) or in every request's `_meta` (modern).
#[derive(Clone, Debug)]
pub struct Envelope {
    /// How the client speaks.
    pub era: Era,
    /// The JSON of its capabilities.
    pub capabilities: Bytes,
    /// The JSON of its name and version.
    pub client_info: Option<Bytes>,
    /// The `_meta` that a modern server expects, ready to be put in.
    modern_meta: Bytes,
}

impl Envelope {
    /// How the member begins that a modern server expects.
    pub(crate) const META_OPENS: &str = r#""_meta":{"#;

    /// A client that introduced itself in an `initialize` handshake, or that we are ourselves.
    /// Capabilities that are no object, which no revision allows, count as none.
    pub fn new(era: Era, capabilities: Bytes, client_info: Option<Bytes>) -> Envelope {
        let is_object = Shape::of(&capabilities) == Some(Shape::Object);
        let capabilities = if is_object { capabilities } else { Bytes::from_static(b"{}") };
        let mut meta = format!(
            r#"{}"{}":"{}","{}":{}"#,
            Envelope::META_OPENS,
            MetaField::ProtocolVersion.key(),
            Version::NEWEST.date(),
            MetaField::ClientCapabilities.key(),
            String::from_utf8_lossy(&capabilities),
        );
        if let Some(info) = &client_info {
            meta.push_str(&format!(
                r#","{}":{}"#,
                MetaField::ClientInfo.key(),
                String::from_utf8_lossy(info)
            ));
        }
        meta.push('}');
        Envelope { era, capabilities, client_info, modern_meta: Bytes::from(meta) }
    }

    /// A client that introduces itself in this request. Nothing is copied but two reference counts.
    pub fn of_modern_request(message: &Message) -> Option<Envelope> {
        let part =
            |field| message.meta_place(field).map(|place| message.bytes().slice(place.start()..place.end()));
        Some(Envelope {
            era: Era::Modern,
            capabilities: part(MetaField::ClientCapabilities)?,
            client_info: part(MetaField::ClientInfo),
            modern_meta: Bytes::new(),
        })
    }

    /// The member that a modern server must find in `params` of this client's requests, with the log level it wants.
    pub(crate) fn modern_meta(&self, log_level: Option<&str>) -> Cow<'_, [u8]> {
        let Some(level) = log_level else { return Cow::Borrowed(&self.modern_meta) };
        let mut meta = self.modern_meta.to_vec();
        meta.pop();
        meta.extend_from_slice(
            format!(r#","{}":{}}}"#, MetaField::LogLevel.key(), text::quote(level)).as_bytes(),
        );
        Cow::Owned(meta)
    }
}
