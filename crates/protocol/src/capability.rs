//! What servers and clients say they can do: one declaration out of many servers', and questions about a client's.
//!
//! A gateway can do what any of its servers can. What the specification knows is merged member by member; settings of
//! an extension belong together, so those of the first server that has it are kept whole.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::era::Era;
use crate::method::Method;
use crate::object::{self, Object};
use crate::scan::Shape;
use crate::text;

/// What several servers can do together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// There are tools.
    pub tools: Option<Listed>,
    /// There are prompts.
    pub prompts: Option<Listed>,
    /// There are resources.
    pub resources: Option<Listed>,
    /// Arguments can be completed.
    pub completions: bool,
    /// Log messages are sent.
    pub logging: bool,
    /// The JSON of what can be done with tasks, as 2025-11-25 has them.
    pub tasks: Option<String>,
    /// Extensions of the modern era with the JSON of their settings.
    pub extensions: BTreeMap<String, String>,
    /// What is in no specification, with the JSON of its settings.
    pub experimental: BTreeMap<String, String>,
}

/// How a list of tools, prompts or resources can be followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Changes of the list are told.
    pub list_changed: bool,
    /// Changes of one resource are told to who asks; never set for tools and prompts.
    pub subscribe: bool,
}

/// What these servers can do together, given the JSON of each one's capabilities. What is no object says nothing.
pub fn merge<T: AsRef<[u8]>>(servers: &[T]) -> Merged {
    let mut merged = Merged::default();
    for capabilities in servers.iter().filter_map(|server| Object::parse(server.as_ref()).ok()) {
        merged.add(&capabilities);
    }
    merged
}

impl Merged {
    /// The declaration for clients of one era, the same bytes for the same abilities.
    pub fn json(&self, era: Era) -> String {
        let present = |there: bool| there.then(|| "{}".to_owned());
        let union =
            |settings: &BTreeMap<String, String>| (!settings.is_empty()).then(|| write_object(settings));
        let members = [
            ("completions", present(self.completions)),
            ("experimental", union(&self.experimental)),
            ("extensions", union(&self.extensions).filter(|_| era == Era::Modern)),
            ("logging", present(self.logging)),
            ("prompts", self.prompts.map(Listed::json)),
            ("resources", self.resources.map(Listed::json)),
            ("tasks", self.tasks.clone().filter(|_| era == Era::Legacy)),
            ("tools", self.tools.map(Listed::json)),
        ];
        write_object(members.iter().filter_map(|(key, value)| Some((key, value.as_ref()?))))
    }

    fn add(&mut self, server: &Object<'_>) {
        add_list(&mut self.tools, server.get("tools"));
        add_list(&mut self.prompts, server.get("prompts"));
        add_list(&mut self.resources, server.get("resources"));
        self.completions |= server.get("completions").is_some_and(is_object);
        self.logging |= server.get("logging").is_some_and(is_object);
        if let Some(tasks) = server.get("tasks").filter(|tasks| is_object(tasks)) {
            self.tasks = unite(self.tasks.take(), tasks);
        }
        add_settings(&mut self.extensions, server.get("extensions"));
        add_settings(&mut self.experimental, server.get("experimental"));
    }
}

impl Listed {
    fn json(self) -> String {
        let members = [("listChanged", self.list_changed), ("subscribe", self.subscribe)];
        write_object(members.iter().filter(|(_, there)| *there).map(|(key, _)| (key, "true")))
    }
}

/// Questions about the JSON of a client's capabilities. Each looks through it anew and allocates nothing.
#[derive(Clone, Copy, Debug)]
pub struct Has<'a> {
    capabilities: &'a [u8],
}

impl<'a> Has<'a> {
    /// Of these capabilities; what is no object has none.
    pub fn of(capabilities: &'a [u8]) -> Has<'a> {
        Has { capabilities }
    }

    /// The client lets a server ask its model.
    pub fn sampling(self) -> bool {
        self.object(&["sampling"]).is_some()
    }

    /// The client lets a server offer tools to its model.
    pub fn sampling_tools(self) -> bool {
        self.object(&["sampling", "tools"]).is_some()
    }

    /// The client tells its roots.
    pub fn roots(self) -> bool {
        self.object(&["roots"]).is_some()
    }

    /// The client asks its user by a form; also where it names no way of asking at all, as before 2025-11-25.
    pub fn elicitation_form(self) -> bool {
        self.object(&["elicitation", "form"]).is_some()
            || self.object(&["elicitation"]).is_some() && self.object(&["elicitation", "url"]).is_none()
    }

    /// The client sends its user to a URL.
    pub fn elicitation_url(self) -> bool {
        self.object(&["elicitation", "url"]).is_some()
    }

    /// The client can be given tasks, as 2025-11-25 has them.
    pub fn tasks(self) -> bool {
        self.object(&["tasks"]).is_some()
    }

    /// The client knows this extension; its settings.
    pub fn extension(self, name: &str) -> Option<&'a [u8]> {
        self.object(&["extensions", name])
    }

    /// Whether the client can answer this question of a server, given the question's `params`.
    pub fn answer_to(self, question: Method, params: Option<&[u8]>) -> bool {
        let mode = params.and_then(|params| object::value_of(params, "mode")).and_then(text::string);
        match question {
            Method::CreateMessage => self.sampling(),
            Method::RootsList => self.roots(),
            Method::Elicit if mode.as_deref() == Some("url") => self.elicitation_url(),
            Method::Elicit => self.elicitation_form(),
            _ => false,
        }
    }

    fn object(self, path: &[&str]) -> Option<&'a [u8]> {
        let found = path.iter().try_fold(self.capabilities, |at, key| object::value_of(at, key));
        found.filter(|value| is_object(value))
    }
}

fn is_object(value: &[u8]) -> bool {
    Shape::of(value) == Some(Shape::Object)
}

fn add_list(merged: &mut Option<Listed>, server: Option<&[u8]>) {
    let Some(Ok(server)) = server.map(Object::parse) else { return };
    let is_true = |key| server.get(key) == Some(b"true");
    let merged = merged.get_or_insert_default();
    merged.list_changed |= is_true("listChanged");
    merged.subscribe |= is_true("subscribe");
}

fn add_settings(merged: &mut BTreeMap<String, String>, server: Option<&[u8]>) {
    let Some(Ok(server)) = server.map(Object::parse) else { return };
    for (name, settings) in server.members().filter(|(_, settings)| is_object(settings)) {
        merged.entry(name.into_owned()).or_insert_with(|| String::from_utf8_lossy(settings).into_owned());
    }
}

/// The union of two objects, and of the objects in them; what one of the two cannot be read as is left out.
fn unite(merged: Option<String>, server: &[u8]) -> Option<String> {
    let mut union = merged.and_then(|merged| serde_json::from_str(&merged).ok()).unwrap_or(Value::Null);
    if let Ok(server) = serde_json::from_slice(server) {
        unite_values(&mut union, server);
    }
    union.sort_all_objects();
    union.is_object().then(|| union.to_string())
}

fn unite_values(merged: &mut Value, server: Value) {
    match (merged, server) {
        (Value::Object(merged), Value::Object(server)) => {
            for (key, value) in server {
                unite_values(merged.entry(key).or_insert(Value::Null), value);
            }
        }
        (merged @ Value::Null, server) => *merged = server,
        _ => {}
    }
}

fn write_object<K: AsRef<str>, V: AsRef<str>>(members: impl IntoIterator<Item = (K, V)>) -> String {
    let write = |(key, value): (K, V)| format!("{}:{}", text::quote(key.as_ref()), value.as_ref());
    let members: Vec<String> = members.into_iter().map(write).collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests;
