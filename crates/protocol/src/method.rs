//! Every method of the five revisions, and of the skills extension.

use crate::text;

/// A method that a revision of the specification, or an extension we take part in, names. Decisions are made on this; an unknown method is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    Initialize,
    Initialized,
    Discover,
    Ping,
    ToolsList,
    ToolsCall,
    ResourcesList,
    ResourcesTemplatesList,
    ResourcesRead,
    ResourcesSubscribe,
    ResourcesUnsubscribe,
    PromptsList,
    PromptsGet,
    Complete,
    SetLevel,
    Listen,
    TasksGet,
    TasksResult,
    TasksList,
    TasksCancel,
    TasksUpdate,
    CreateMessage,
    Elicit,
    RootsList,
    Cancelled,
    Progress,
    LogMessage,
    ToolsChanged,
    ResourcesChanged,
    ResourceUpdated,
    PromptsChanged,
    RootsChanged,
    ElicitationComplete,
    TaskStatus,
    TasksNotification,
    Acknowledged,
    SkillsList,
    SkillsGet,
    DirectoryRead,
    Unknown,
}

const NAMES: [(&str, Method); 39] = [
    ("initialize", Method::Initialize),
    ("notifications/initialized", Method::Initialized),
    ("server/discover", Method::Discover),
    ("ping", Method::Ping),
    ("tools/list", Method::ToolsList),
    ("tools/call", Method::ToolsCall),
    ("resources/list", Method::ResourcesList),
    ("resources/templates/list", Method::ResourcesTemplatesList),
    ("resources/read", Method::ResourcesRead),
    ("resources/subscribe", Method::ResourcesSubscribe),
    ("resources/unsubscribe", Method::ResourcesUnsubscribe),
    ("prompts/list", Method::PromptsList),
    ("prompts/get", Method::PromptsGet),
    ("completion/complete", Method::Complete),
    ("logging/setLevel", Method::SetLevel),
    ("subscriptions/listen", Method::Listen),
    ("tasks/get", Method::TasksGet),
    ("tasks/result", Method::TasksResult),
    ("tasks/list", Method::TasksList),
    ("tasks/cancel", Method::TasksCancel),
    ("tasks/update", Method::TasksUpdate),
    ("sampling/createMessage", Method::CreateMessage),
    ("elicitation/create", Method::Elicit),
    ("roots/list", Method::RootsList),
    ("notifications/cancelled", Method::Cancelled),
    ("notifications/progress", Method::Progress),
    ("notifications/message", Method::LogMessage),
    ("notifications/tools/list_changed", Method::ToolsChanged),
    ("notifications/resources/list_changed", Method::ResourcesChanged),
    ("notifications/resources/updated", Method::ResourceUpdated),
    ("notifications/prompts/list_changed", Method::PromptsChanged),
    ("notifications/roots/list_changed", Method::RootsChanged),
    ("notifications/elicitation/complete", Method::ElicitationComplete),
    ("notifications/tasks/status", Method::TaskStatus),
    ("notifications/tasks", Method::TasksNotification),
    ("notifications/subscriptions/acknowledged", Method::Acknowledged),
    ("skills/list", Method::SkillsList),
    ("skills/get", Method::SkillsGet),
    ("resources/directory/read", Method::DirectoryRead),
];

impl Method {
    /// The method whose name stands between quotation marks. A name that no text can hold is unknown, like any other odd one.
    pub(crate) fn written(inside: &[u8]) -> Method {
        // The common one first: nearly all traffic is calls.
        if inside == b"tools/call" {
            return Method::ToolsCall;
        }
        text::unescape(inside).map_or(Method::Unknown, |name| Method::named(&name))
    }

    /// The method with this name.
    pub fn named(name: &str) -> Method {
        NAMES.iter().find(|(known, _)| *known == name).map_or(Method::Unknown, |(_, method)| *method)
    }

    /// Its name on the wire; empty for [`Method::Unknown`].
    pub fn name(self) -> &'static str {
        NAMES.get(self as usize).map_or("", |(name, _)| name)
    }

    /// Whether it is a question of a server to a client.
    pub fn is_question(self) -> bool {
        matches!(self, Method::CreateMessage | Method::Elicit | Method::RootsList)
    }

    /// Whether the modern era lets a server answer it with `input_required`.
    pub fn may_need_input(self) -> bool {
        matches!(self, Method::ToolsCall | Method::ResourcesRead | Method::PromptsGet)
    }

    /// Whether its result in the modern era says how long it may be kept, and by whom.
    pub fn is_cacheable(self) -> bool {
        matches!(
            self,
            Method::Discover
                | Method::ToolsList
                | Method::PromptsList
                | Method::ResourcesList
                | Method::ResourcesTemplatesList
                | Method::ResourcesRead
                | Method::SkillsList
                | Method::SkillsGet
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_leads_to_its_method_and_back() {
        for (place, (name, method)) in NAMES.iter().enumerate() {
            assert_eq!(Method::named(name), *method);
            assert_eq!(method.name(), *name);
            assert_eq!(*method as usize, place);
        }
        assert_eq!(Method::named("tools/Call"), Method::Unknown);
        assert_eq!(Method::written(b"tools/call"), Method::ToolsCall);
        assert_eq!(Method::written(br"tools/c\u0061ll"), Method::ToolsCall);
        assert_eq!(Method::written(br"\ud800"), Method::Unknown);
        assert_eq!(Method::Unknown.name(), "");
    }
}
