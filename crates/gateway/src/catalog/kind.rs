//! The five kinds of things that servers list.

use toolgate_protocol::Method;

/// What a list is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What a model calls.
    Tool,
    /// A prepared conversation.
    Prompt,
    /// Something to read, under a URI.
    Resource,
    /// A pattern of URIs that can be read.
    Template,
    /// A document with the files that belong to it, as the skills extension lists them.
    Skill,
}

impl Kind {
    /// All kinds, in the order of [`Kind::index`].
    pub const ALL: [Kind; 5] = [Kind::Tool, Kind::Prompt, Kind::Resource, Kind::Template, Kind::Skill];

    /// The place of this kind in a table with one row for each.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The method that lists it.
    pub fn method(self) -> Method {
        match self {
            Kind::Tool => Method::ToolsList,
            Kind::Prompt => Method::PromptsList,
            Kind::Resource => Method::ResourcesList,
            Kind::Template => Method::ResourcesTemplatesList,
            Kind::Skill => Method::SkillsList,
        }
    }

    /// The kind that a method lists.
    pub fn listed_by(method: Method) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.method() == method)
    }

    /// The member of a list result that holds the entries.
    pub fn list_key(self) -> &'static str {
        match self {
            Kind::Tool => "tools",
            Kind::Prompt => "prompts",
            Kind::Resource => "resources",
            Kind::Template => "resourceTemplates",
            Kind::Skill => "skills",
        }
    }

    /// The member of an entry by which clients refer to it.
    pub fn identity_key(self) -> &'static str {
        match self {
            Kind::Tool | Kind::Prompt => "name",
            Kind::Resource | Kind::Skill => "uri",
            Kind::Template => "uriTemplate",
        }
    }

    /// How many entries a page has.
    pub fn page_size(self) -> usize {
        match self {
            Kind::Tool | Kind::Prompt => 100,
            Kind::Resource | Kind::Template | Kind::Skill => 50,
        }
    }

    /// One of them, in words.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Tool => "tool",
            Kind::Prompt => "prompt",
            Kind::Resource => "resource",
            Kind::Template => "resource template",
            Kind::Skill => "skill",
        }
    }
}
