//! `resources/read`: a file, a part of it, or the news that nothing is new; and the list of a category.

use std::ops::Range;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use toolgate_protocol::{Code, ErrorReply, text};

use super::arguments::Params;
use super::listing::{invalid, resource_of_skill};
use super::{ETAG, IF_NONE_MATCH, NOT_MODIFIED, RANGE};
use crate::file::File;
use crate::library::{Library, NotServed, Place, Selection};
use crate::range::ByteRange;

/// Reads what is at a URI.
pub(super) fn read(library: &Library, params: &Params) -> Result<Value, ErrorReply> {
    let uri = params.text("uri")?;
    if let Some(selection) = selection(uri)? {
        return Ok(list(library, uri, &selection, params));
    }
    let file = file(library, uri)?;
    if params.meta_text(IF_NONE_MATCH).is_some_and(|tags| file.digest.is_among(tags)) {
        return Ok(json!({"contents": [], "_meta": {NOT_MODIFIED: true, ETAG: file.digest.etag()}}));
    }
    let wanted = match params.meta_text(RANGE) {
        None => None,
        Some(range) => Some(ByteRange::parse_header(range).ok_or_else(|| {
            ErrorReply::new(
                Code::InvalidParams,
                format!("'{RANGE}' must look like 'bytes=0-499', not '{range}'"),
            )
        })?),
    };
    Ok(json!({ "contents": [contents(&file, wanted)?] }))
}

/// The file at a URI. A folder is none, and is not told apart from what is not there.
pub(super) fn file(library: &Library, uri: &str) -> Result<Arc<File>, ErrorReply> {
    match library.at(uri) {
        Ok(Place::File(file)) => Ok(file),
        Ok(Place::Folder(_)) => Err(missing(&NotServed::Nothing(uri.to_owned()), uri)),
        Err(error) => Err(missing(&error, uri)),
    }
}

/// A file, or a part of it, with what says which part that is.
pub(super) fn contents(file: &File, wanted: Option<ByteRange>) -> Result<Value, ErrorReply> {
    let length = file.content.len();
    let unsatisfiable =
        |error: crate::range::Unsatisfiable| ErrorReply::new(Code::InvalidParams, error.to_string());
    let mut contents =
        json!({"uri": &*file.uri, "mimeType": file.media_type, "_meta": {ETAG: file.digest.etag()}});
    let part =
        |range: Range<usize>| format!("bytes {}-{}/{length}", range.start, range.end.saturating_sub(1));
    if let Some(text) = file.text() {
        let range = wanted.map(|wanted| wanted.within_text(text)).transpose().map_err(unsatisfiable)?;
        contents["text"] = json!(text.get(range.clone().unwrap_or(0..length)).unwrap_or_default());
        range.into_iter().for_each(|range| contents["_meta"][RANGE] = json!(part(range)));
    } else {
        let range = wanted.map(|wanted| wanted.within(length)).transpose().map_err(unsatisfiable)?;
        let bytes = file.content.get(range.clone().unwrap_or(0..length)).unwrap_or_default();
        contents["blob"] = json!(STANDARD.encode(bytes));
        range.into_iter().for_each(|range| contents["_meta"][RANGE] = json!(part(range)));
    }
    Ok(contents)
}

/// The skills that `skill://category/*?tags=…` means; nothing for the URI of one thing.
fn selection(uri: &str) -> Result<Option<Selection>, ErrorReply> {
    let (pattern, query) = uri.split_once('?').unwrap_or((uri, ""));
    if !pattern.ends_with("/*") {
        return Ok(None);
    }
    let bad = |what: String| ErrorReply::new(Code::InvalidParams, what);
    let selection = Selection::parse(pattern).map_err(|error| bad(error.to_string()))?;
    Ok(Some(selection.with_tags(tags(query).map_err(bad)?)))
}

/// The tags of a query, all of which a skill must have: `tags=a,b` or `tags=a&tags=b`. Another filter is refused rather
/// than left out, because the list without it would say more than was asked for.
fn tags(query: &str) -> Result<Vec<String>, String> {
    let mut tags = Vec::new();
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let Some(("tags", value)) = parameter.split_once('=') else {
            return Err(format!("a list of skills is filtered by '?tags=a,b', not by '?{query}'"));
        };
        // What writes queries writes a space as '+' or '%20', and a plus as '%2B'.
        let value = value.replace('+', " ");
        let value = percent_decode_str(&value).decode_utf8();
        let value = value.map_err(|_| format!("'{parameter}' is not UTF-8 in percent-encoding"))?;
        // Only now, since a comma may come encoded too.
        tags.extend(value.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned));
    }
    Ok(tags)
}

fn list(library: &Library, uri: &str, selection: &Selection, params: &Params) -> Value {
    let shown = library.select(selection).filter(|skill| !params.hides(skill.uri()));
    let entries: Vec<Value> = shown.filter_map(|skill| resource_of_skill(skill)).collect();
    let text = json!({ "resources": entries }).to_string();
    json!({"contents": [{"uri": uri, "mimeType": "application/json", "text": text}]})
}

fn missing(error: &NotServed, uri: &str) -> ErrorReply {
    match error {
        NotServed::Uri(_) => invalid(error),
        NotServed::Nothing(_) => ErrorReply::new(Code::ResourceNotFound, error.to_string())
            .with_data(format!(r#"{{"uri":{}}}"#, text::quote(uri))),
    }
}
