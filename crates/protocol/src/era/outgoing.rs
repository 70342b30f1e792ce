//! A client's request on its way to a server: under the connection's own id, with the server's own names, in the
//! server's era. One copy, whatever changes.

use crate::era::{Envelope, Era};
use crate::message::{Field, Message, MetaField};
use crate::object::Object;
use crate::span::Span;
use crate::splice::Splice;
use crate::text;

/// What must change in a request.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The id under which the server sees it.
    pub id: u64,
    /// The place of the exposed name or URI, and what the server calls it.
    pub native: Option<(Span, &'a str)>,
    /// How the server speaks.
    pub era: Era,
    /// Who asks.
    pub envelope: &'a Envelope,
    /// The log level that the client chose in its session, for a server that wants it in each request.
    pub log_level: Option<&'a str>,
}

/// Members of `_meta` that a modern client says of itself and that mean nothing to a legacy server.
const HOP_BY_HOP: [MetaField; 4] =
    [MetaField::ProtocolVersion, MetaField::ClientInfo, MetaField::ClientCapabilities, MetaField::LogLevel];

impl Outgoing<'_> {
    /// The request as the server shall see it. The progress token becomes the id: tokens of two clients may be equal.
    pub fn write(&self, message: &Message) -> Vec<u8> {
        let id = self.id.to_string();
        let mut edits = Edits { list: Vec::with_capacity(6) };
        if let Some(place) = message.id_place() {
            edits.replace(place, id.as_bytes());
        }
        if let Some((place, native)) = self.native {
            edits.replace(place, text::quote(native).as_bytes());
        }
        match (self.envelope.era, self.era) {
            (Era::Modern, Era::Legacy) => self.strip(message, &id, &mut edits),
            (Era::Legacy, Era::Modern) => {
                edit_token(message, &id, &mut edits);
                self.introduce(message, &mut edits);
            }
            (Era::Legacy, Era::Legacy) | (Era::Modern, Era::Modern) => edit_token(message, &id, &mut edits),
        }
        edits.apply(message.bytes())
    }

    /// Puts in what a modern server expects of every request.
    fn introduce(&self, message: &Message, edits: &mut Edits) {
        let members = self.envelope.modern_members(self.log_level);
        match (message.body_place(), message.place(Field::Meta)) {
            (_, Some(meta)) => edits.insert_members(meta, members, message.bytes()),
            (Some(params), None) => edits.insert_members(params, wrap(&members), message.bytes()),
            (None, None) => {
                let end = message.bytes().iter().rposition(|byte| *byte == b'}').unwrap_or_default();
                let mut params = br#","params":{"#.to_vec();
                params.extend_from_slice(&wrap(&members));
                params.push(b'}');
                edits.replace(Span::new(end, end), &params);
            }
        }
    }

    /// Takes out what only a modern server understands.
    fn strip(&self, message: &Message, id: &str, edits: &mut Edits) {
        for field in [Field::InputResponses, Field::RequestState] {
            if let (Some(value), Some(params)) = (message.place(field), message.body_place()) {
                edits.remove_member_of(message.bytes(), params, value);
            }
        }
        let Some(meta) = message.place(Field::Meta) else { return };
        let Ok(object) = Object::parse(meta.of(message.bytes())) else { return };
        let mut rebuilt = b"{".to_vec();
        for (key, value) in object.members() {
            if HOP_BY_HOP.iter().any(|field| field.key() == key) {
                continue;
            }
            if rebuilt.len() > 1 {
                rebuilt.push(b',');
            }
            rebuilt.extend_from_slice(text::quote(&key).as_bytes());
            rebuilt.push(b':');
            let token = key == MetaField::ProgressToken.key();
            rebuilt.extend_from_slice(if token { id.as_bytes() } else { value });
        }
        rebuilt.push(b'}');
        edits.replace(meta, &rebuilt);
    }
}

fn wrap(members: &[u8]) -> Vec<u8> {
    [br#""_meta":{"#.as_slice(), members, b"}"].concat()
}

fn edit_token(message: &Message, id: &str, edits: &mut Edits) {
    if let Some(place) = message.meta_place(MetaField::ProgressToken) {
        edits.replace(place, id.as_bytes());
    }
}

/// Changes in any order; [`Splice`] wants them in the order of their places.
struct Edits {
    list: Vec<(Span, Vec<u8>)>,
}

impl Edits {
    fn replace(&mut self, place: Span, new: &[u8]) {
        self.list.push((place, new.to_vec()));
    }

    fn insert_members(&mut self, object: Span, mut members: Vec<u8>, bytes: &[u8]) {
        let inside = object.inside();
        if !inside.of(bytes).iter().all(u8::is_ascii_whitespace) {
            members.push(b',');
        }
        self.list.push((Span::new(inside.start(), inside.start()), members));
    }

    /// Cuts a member out of an object, given where its value stands, with one comma beside it.
    fn remove_member_of(&mut self, bytes: &[u8], object: Span, value: Span) {
        let Ok(parsed) = Object::parse(object.of(bytes)) else { return };
        let places = parsed.places();
        let Some(at) = places.iter().position(|member| member.value.shifted(object.start()) == value) else {
            return;
        };
        let whole = places[at].whole;
        let cut = match (places.get(at + 1), at.checked_sub(1).and_then(|before| places.get(before))) {
            (Some(next), _) => Span::new(whole.start(), next.whole.start()),
            (None, Some(before)) => Span::new(before.whole.end(), whole.end()),
            (None, None) => whole,
        };
        self.replace(cut.shifted(object.start()), b"");
    }

    fn apply(mut self, bytes: &[u8]) -> Vec<u8> {
        self.list.sort_by_key(|(place, _)| place.start());
        let grows = self.list.iter().map(|(_, new)| new.len()).sum();
        let mut splice = Splice::new(bytes, grows);
        for (place, new) in &self.list {
            splice.replace(*place, new);
        }
        splice.finish()
    }
}
