//! The tools that skills declare in their frontmatter.

use std::sync::Arc;

use arc_swap::ArcSwap;
use toolgate_bindings::egress::HostPattern;
use toolgate_bindings::tool::Tools;
use toolgate_bindings::{BindingsServer, Courier, frontmatter};
use toolgate_skills::{Library, SkillsServer};
use url::Url;

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
        let (good, bad) =
            frontmatter::tools(&skill.frontmatter, skill.uri(), &|name, host| secret(name, host, secrets));
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

/// The value of a variable that skills may send to this address. `allowed` has names, or `NAME@HOST` where a variable
/// is for some hosts only.
pub(super) fn secret(name: &str, address: &Url, allowed: &[String]) -> Option<String> {
    let is_allowed = allowed.iter().any(|entry| match entry.split_once('@') {
        None => entry == name,
        Some((secret, host)) => {
            secret == name && HostPattern::parse(host).is_ok_and(|host| host.fits_url(address))
        }
    });
    is_allowed.then(|| files::variable(name)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_goes_to_its_hosts_only() {
        // A variable that every test process has.
        let name = "PATH";
        let check = |allowed: &[&str], address: &str, expected: bool| {
            let allowed: Vec<String> = allowed.iter().map(|entry| (*entry).to_owned()).collect();
            let found = secret(name, &Url::parse(address).unwrap(), &allowed);
            assert_eq!(found.is_some(), expected, "{allowed:?} {address}");
        };
        check(&["PATH"], "https://anywhere.example/", true);
        check(&["PATH@api.example"], "https://api.example/", true);
        check(&["PATH@api.example"], "https://evil.example/", false);
        check(&["PATH@api.example"], "https://api.example:8443/", false);
        check(&["PATH@api.example", "PATH@*.shop.example:*"], "http://eu.shop.example:81/", true);
        check(&["PATH@"], "https://api.example/", false);
        check(&["HOME"], "https://api.example/", false);
    }
}
