//! The tools that skills declare in their frontmatter.

use std::sync::Arc;

use arc_swap::ArcSwap;
use toolgate_bindings::tool::Tools;
use toolgate_bindings::{BindingsServer, Courier, frontmatter};
use toolgate_skills::{Library, SkillsServer};

use crate::startup::files;

/// A server of the tools that the skills of another server declare.
#[derive(Debug)]
pub(crate) struct ToolsOfSkills {
    server: Arc<BindingsServer>,
    courier: Courier,
    skills: Arc<SkillsServer>,
    /// The variables that may be sent.
    secrets: ArcSwap<Vec<String>>,
}

impl ToolsOfSkills {
    /// Without tools until it is told which secrets they may use.
    pub(crate) fn new(skills: Arc<SkillsServer>, courier: Courier) -> ToolsOfSkills {
        let server = Arc::new(BindingsServer::new(Tools::default(), courier.clone()));
        ToolsOfSkills { server, courier, skills, secrets: ArcSwap::default() }
    }

    /// What serves them.
    pub(super) fn server(&self) -> &Arc<BindingsServer> {
        &self.server
    }

    /// Lets the tools use these variables, and no others.
    pub(super) fn allow_secrets(&self, secrets: Vec<String>) {
        self.secrets.store(Arc::new(secrets));
        self.follow();
    }

    /// Serves the tools that the skills declare now.
    pub(crate) fn follow(&self) {
        let changed = self.server.replace(declared(&self.skills.library(), &self.secrets.load()));
        if changed && self.courier.egress().is_closed() {
            tracing::warn!("skills declare tools, but no host is named under egress that these could ask");
        } else if changed {
            tracing::info!(tools = self.server.tools().len(), "the tools of skills have changed");
        }
    }
}

/// The tools of all skills. Of two with the same name, that of the first skill is served.
fn declared(library: &Library, secrets: &[String]) -> Tools {
    let mut tools = Tools::default();
    for skill in library.skills().filter(|skill| skill.flaw.is_none()) {
        let (good, bad) = frontmatter::tools(&skill.frontmatter, skill.uri(), &|name| secret(name, secrets));
        for tool in good {
            let name = tool.name.clone();
            if !tools.add(tool) {
                tracing::warn!(
                    skill = skill.uri(),
                    tool = name,
                    "another skill has a tool of this name; it is left out"
                );
            }
        }
        for why in bad {
            tracing::warn!(skill = skill.uri(), %why, "in the frontmatter of a skill");
        }
    }
    tools
}

/// The value of a variable that skills may send.
pub(super) fn secret(name: &str, allowed: &[String]) -> Option<String> {
    let is_allowed = allowed.iter().any(|secret| secret == name);
    is_allowed.then(|| files::variable(name)).flatten()
}
