//! Tools bound to HTTP: servers in this process for those of skills and for each OpenAPI document.
//!
//! All of it follows the configuration while the gateway runs. A server stays the same one as long as its name does, so
//! that a reload interrupts no call; what changes is which tools it has and where their requests may go.

pub(crate) mod check;
mod documents;
mod of_skills;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use toolgate_bindings::egress::HostPattern;
use toolgate_bindings::{BindingsServer, Courier, Egress};
use toolgate_client::{InProcess, ServerSpec};
use toolgate_config::{Config, EgressConfig};
use toolgate_gateway::{Desired, Gateway};
use toolgate_protocol::Era;

use documents::Document;
pub(super) use of_skills::ToolsOfSkills;

/// How long the gate waits for a call; each tool has a time of its own, which is shorter.
const CALL_TIMEOUT: Duration = Duration::from_secs(610);
/// How long a result may be beyond the answer it is made of: JSON inside of JSON takes more room.
const ROOM_FOR_QUOTES: usize = 8;

/// All bound tools of a gateway.
#[derive(Debug)]
pub(super) struct Bindings {
    courier: Courier,
    skills: Option<Arc<ToolsOfSkills>>,
    documents: BTreeMap<String, Document>,
}

impl Bindings {
    /// None yet but those of skills, which this courier serves.
    pub(super) fn new(courier: Courier, skills: Option<Arc<ToolsOfSkills>>) -> Bindings {
        Bindings { courier, skills, documents: BTreeMap::new() }
    }

    /// Makes the tools, and where they may go, those of a configuration. Documents are read again.
    pub(super) fn apply(&mut self, gateway: &Gateway, config: &Config) {
        self.courier.obey(egress(&config.egress));
        if let Some(skills) = &self.skills {
            skills.allow_secrets(config.bindings.secrets.clone());
        }
        let wanted = &config.bindings.openapi;
        self.documents.retain(|name, document| {
            let stays = wanted.contains_key(name);
            if !stays {
                document.stop();
            }
            stays
        });
        for (name, settings) in wanted {
            let document =
                self.documents.entry(name.clone()).or_insert_with(|| Document::new(self.courier.clone()));
            document.serve(gateway, name, settings);
        }
    }

    /// The servers that the gateway shall have for them.
    pub(super) fn servers(&self, config: &Config) -> Vec<Desired> {
        let egress = self.courier.egress();
        let of_skills = self.skills.iter().map(|skills| (&config.bindings.name, skills.server()));
        // Without tools, and without anybody who could be asked, most people do not even know of this server.
        let of_skills = of_skills.filter(|(_, server)| !server.tools().is_empty() || !egress.is_closed());
        let documents = self.documents.iter().map(|(name, document)| (name, document.server()));
        let all = of_skills.chain(documents);
        all.map(|(name, server)| desired(name, Arc::clone(server), egress.max_answer_bytes)).collect()
    }
}

/// The rules of a configuration. Patterns that name no host are refused when it is loaded; here they allow nothing.
pub(super) fn egress(config: &EgressConfig) -> Egress {
    let patterns = |texts: &[String]| texts.iter().filter_map(|text| HostPattern::parse(text).ok()).collect();
    Egress {
        allow: patterns(&config.allow),
        private: patterns(&config.private),
        redirects: config.redirects,
        max_answer_bytes: config.max_answer_bytes,
    }
}

fn desired(name: &str, server: Arc<BindingsServer>, max_answer_bytes: usize) -> Desired {
    let spec = ServerSpec {
        era: Some(Era::Modern),
        call_timeout: CALL_TIMEOUT,
        max_message_bytes: max_answer_bytes.saturating_mul(ROOM_FOR_QUOTES),
        ..ServerSpec::in_process(name, InProcess::new(server))
    };
    // Skills are the operator's own files, as handlers are.
    Desired { trusts_prices: true, ..Desired::from(spec) }
}
