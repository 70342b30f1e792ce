//! A client's request on its way to a server: under the connection's own id, with the server's own names, in the
//! server's era. One copy, whatever changes.

use std::borrow::Cow;

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
    /// Members of `_meta` that the server shall find besides those of the client: `"key":value`.
    pub told: Option<&'a str>,
}

/// Members of `_meta` that a modern client says of itself: they mean nothing to a legacy server, and a legacy client
/// that writes them says nothing that we would believe.
const HOP_BY_HOP: [MetaField; 4] =
    [MetaField::ProtocolVersion, MetaField::ClientInfo, MetaField::ClientCapabilities, MetaField::LogLevel];

/// Members of `params` with which a modern client answers a server's questions.
const ANSWERS: [Field; 2] = [Field::InputResponses, Field::RequestState];

impl Outgoing<'_> {
    /// The request as the server shall see it. The progress token becomes the id: tokens of two clients may be equal.
    pub fn write(&self, message: &Message) -> Vec<u8> {
        let id = self.id.to_string();
        let quoted;
        let mut edits = Edits { list: Vec::with_capacity(8) };
        if let Some(place) = message.id_place() {
            edits.replace(place, id.as_bytes());
        }
        if let Some((place, native)) = self.native {
            quoted = text::quote(native);
            edits.replace(place, quoted.as_bytes());
        }
        if let Some(place) = message.meta_place(MetaField::ProgressToken) {
            edits.replace(place, id.as_bytes());
        }
        match (self.envelope.era, self.era) {
            (Era::Modern, Era::Legacy) => {
                forget_answers(message, &mut edits);
                forget_introduction(message, &mut edits);
            }
            (Era::Legacy, Era::Modern) => forget_introduction(message, &mut edits),
            (Era::Legacy, Era::Legacy) | (Era::Modern, Era::Modern) => {}
        }
        if let Some(meta) = self.added_meta() {
            add_meta(meta, message, &mut edits);
        }
        forget_wishes(message, &mut edits);
        edits.apply(message.bytes())
    }

    /// The `"_meta":{…}` that the client did not write: what a modern server expects of every request, and what it is told.
    fn added_meta(&self) -> Option<Cow<'_, [u8]>> {
        let introduces = (self.envelope.era, self.era) == (Era::Legacy, Era::Modern);
        let introduction = introduces.then(|| self.envelope.modern_meta(self.log_level));
        let Some(told) = self.told else { return introduction };
        let mut meta = [Envelope::META_OPENS.as_bytes(), told.as_bytes()].concat();
        if let Some(introduction) = introduction {
            meta.push(b',');
            meta.extend_from_slice(&members_of(introduction));
        }
        meta.push(b'}');
        Some(meta.into())
    }
}

/// Puts the members of a `"_meta":{…}` into that of the message.
fn add_meta<'a>(meta: Cow<'a, [u8]>, message: &Message, edits: &mut Edits<'a>) {
    match (message.body_place(), message.place(Field::Meta)) {
        (_, Some(place)) => edits.insert_members(place, members_of(meta)),
        (Some(params), None) => edits.insert_members(params, meta),
        (None, None) => {
            let end = message.bytes().iter().rposition(|byte| *byte == b'}').unwrap_or_default();
            let params = [br#","params":{"#.as_slice(), &meta, b"}"].concat();
            edits.list.push((Span::new(end, end), Edit::Replace(params.into())));
        }
    }
}

/// What is inside of a `"_meta":{…}`.
fn members_of(meta: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let range = Envelope::META_OPENS.len()..meta.len().saturating_sub(1);
    match meta {
        Cow::Borrowed(meta) => Cow::Borrowed(meta.get(range).unwrap_or_default()),
        Cow::Owned(meta) => Cow::Owned(meta.get(range).unwrap_or_default().to_vec()),
    }
}

/// Takes out of `_meta` what the client says of itself.
fn forget_introduction(message: &Message, edits: &mut Edits<'_>) {
    let introduced = HOP_BY_HOP.iter().any(|field| message.meta_place(*field).is_some());
    if let (true, Some(meta)) = (introduced, message.place(Field::Meta)) {
        edits.remove_members(message.bytes(), meta, &HOP_BY_HOP.map(MetaField::key));
    }
}

/// Takes out of `_meta` what the client asks of us: at a server that is a gateway too, the names mean something else.
fn forget_wishes(message: &Message, edits: &mut Edits) {
    if let (Some(_), Some(meta)) = (message.meta_place(MetaField::Narrow), message.place(Field::Meta)) {
        edits.remove_members(message.bytes(), meta, &[MetaField::Narrow.key()]);
    }
}

/// Takes out of `params` what answers a modern server's questions.
fn forget_answers(message: &Message, edits: &mut Edits<'_>) {
    let answered = ANSWERS.iter().any(|field| message.place(*field).is_some());
    if let (true, Some(params)) = (answered, message.body_place()) {
        edits.remove_members(message.bytes(), params, &ANSWERS.map(Field::key));
    }
}

/// Changes in any order; [`Splice`] wants them in the order of their places.
struct Edits<'a> {
    list: Vec<(Span, Edit<'a>)>,
}

/// What happens at a place.
enum Edit<'a> {
    /// New bytes stand there.
    Replace(Cow<'a, [u8]>),
    /// It is an object, and these members come first in it.
    InsertMembers(Cow<'a, [u8]>),
    /// It is a member of an object, and goes.
    RemoveMember,
}

impl<'a> Edits<'a> {
    fn replace(&mut self, place: Span, new: &'a [u8]) {
        self.list.push((place, Edit::Replace(Cow::Borrowed(new))));
    }

    fn insert_members(&mut self, object: Span, members: Cow<'a, [u8]>) {
        self.list.push((object, Edit::InsertMembers(members)));
    }

    fn remove_members(&mut self, bytes: &[u8], object: Span, keys: &[&str]) {
        let Ok(parsed) = Object::parse(object.of(bytes)) else { return };
        let places = parsed.places_of(keys).map(|member| member.whole.shifted(object.start()));
        self.list.extend(places.map(|place| (place, Edit::RemoveMember)));
    }

    fn apply(mut self, bytes: &[u8]) -> Vec<u8> {
        self.list.sort_by_key(|(place, _)| place.start());
        let grows = self.list.iter().map(|(_, edit)| edit.len()).sum();
        let mut splice = Splice::new(bytes, grows);
        for (place, edit) in &self.list {
            match edit {
                Edit::Replace(new) => splice.replace(*place, new),
                Edit::InsertMembers(members) => splice.insert_members(*place, members),
                Edit::RemoveMember => splice.remove_member(*place),
            };
        }
        splice.finish()
    }
}

impl Edit<'_> {
    fn len(&self) -> usize {
        match self {
            Edit::Replace(new) | Edit::InsertMembers(new) => new.len() + 1,
            Edit::RemoveMember => 0,
        }
    }
}

#[cfg(test)]
mod tests;
