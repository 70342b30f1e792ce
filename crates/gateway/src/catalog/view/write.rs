//! An entry as clients see it: the server's bytes with the exposed name, and for tools what the gateway adds to `_meta`.

use toolgate_protocol::scan::Shape;
use toolgate_protocol::{Object, Span, Splice, text};

use crate::catalog::Item;

/// Writes an entry behind `out`. `decoration` are members for its `_meta`.
pub(super) fn entry(out: &mut Vec<u8>, item: &Item, decoration: Option<&str>) {
    let raw = item.entry().raw();
    let identity = item.entry().identity_place();
    let exposed =
        if item.exposed() == item.native().as_ref() { None } else { Some(text::quote(item.exposed())) };
    let name = exposed.as_deref().map_or_else(|| identity.of(raw), str::as_bytes);
    let Some(decoration) = decoration else {
        for part in
            [Span::new(0, identity.start()).of(raw), name, Span::new(identity.end(), raw.len()).of(raw)]
        {
            out.extend_from_slice(part);
        }
        return;
    };
    let mut splice = Splice::new(raw, name.len() + decoration.len() + 16);
    match item.entry().meta_place() {
        Some(place) if place.start() < identity.start() => {
            splice.replace(place, &meta(place.of(raw), decoration)).replace(identity, name);
        }
        Some(place) => {
            splice.replace(identity, name).replace(place, &meta(place.of(raw), decoration));
        }
        None => {
            let added = format!(r#","_meta":{{{decoration}}}"#);
            splice.replace(identity, name).insert(raw.len().saturating_sub(1), added.as_bytes());
        }
    }
    out.extend_from_slice(&splice.finish());
}

/// An entry's own `_meta` with the decoration in it. What the gateway says must not be said otherwise by a server.
fn meta(own: &[u8], decoration: &str) -> Vec<u8> {
    let ours = format!("{{{decoration}}}");
    if Shape::of(own) != Some(Shape::Object) {
        return ours.into_bytes();
    }
    let (Ok(own_members), Ok(our_members)) = (Object::parse(own), Object::parse(ours.as_bytes())) else {
        return own.to_vec();
    };
    let mut kept = ours.clone().into_bytes();
    kept.truncate(kept.len().saturating_sub(1));
    for (place, (key, _)) in own_members.places().iter().zip(own_members.members()) {
        if our_members.get(&key).is_none() {
            kept.push(b',');
            kept.extend_from_slice(place.whole.of(own));
        }
    }
    kept.push(b'}');
    kept
}
