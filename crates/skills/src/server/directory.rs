//! `resources/directory/read`: what is directly in a folder.

use serde_json::{Value, json};
use toolgate_protocol::{Code, ErrorReply};

use super::arguments::Params;
use super::listing::{invalid, resource_of_file, resource_of_skill, with_next};
use crate::library::{Child, Library};

/// How many entries a page has.
const PAGE: usize = 200;

/// A page of what is in a folder.
pub(super) fn read(library: &Library, params: &Params) -> Result<Value, ErrorReply> {
    let uri = params.text("uri")?;
    let no_folder = || ErrorReply::new(Code::InvalidParams, format!("{uri} is not a directory resource"));
    let children = library.folder(uri).map_err(|error| invalid(&error))?.ok_or_else(no_folder)?;
    let shown: Vec<Child> = children.into_iter().filter(|child| !is_hidden(library, child, params)).collect();
    let (page, next) = params.page(&shown, PAGE)?;
    let entries: Vec<Value> = page.iter().map(|child| entry(library, child)).collect();
    Ok(with_next(json!({ "resources": entries }), next))
}

fn entry(library: &Library, child: &Child) -> Value {
    match child {
        Child::Folder(path) => json!({"uri": path.uri(), "name": path.last(), "mimeType": "inode/directory"}),
        Child::File(file) => {
            let document = library.skill_of(file).and_then(|skill| resource_of_skill(skill));
            document.unwrap_or_else(|| resource_of_file(file, file.path.last()))
        }
    }
}

/// A folder with nothing but hidden skills in it is hidden too. One without skills is part of a skill, which the caller
/// may see.
fn is_hidden(library: &Library, child: &Child, params: &Params) -> bool {
    match child {
        Child::File(file) => params.hides(&file.uri),
        Child::Folder(path) => {
            let mut inside = library.skills().filter(|skill| skill.path.is_within(path)).peekable();
            inside.peek().is_some() && inside.all(|skill| params.hides(skill.uri()))
        }
    }
}
