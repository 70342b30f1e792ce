//! Telling clients what changed.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use toolgate_protocol::Method;

use crate::catalog::Kind;
use crate::gateway::Gateway;
use crate::isolated::Owner;
use crate::published::Published;
use crate::relay::notice;
use crate::session::Session;

impl Gateway {
    /// Makes the catalogue anew from what the servers list now, and tells clients what changed.
    pub fn publish(&self) {
        self.publish_for(&[]);
    }

    /// The same; clients are told of the lists in `told` in any case.
    pub(super) fn publish_for(&self, told: &[Kind]) {
        // One at a time: what was made from older lists must not replace what was made from newer ones.
        let naming = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        let links = &self.settings.skills_of_tools;
        let published = Arc::new(Published::of(&self.fleet.members(), *naming, links));
        let before = self.published.swap(Arc::clone(&published));
        for clash in published.catalog.clashes() {
            if !before.catalog.clashes().contains(clash) {
                tracing::warn!(server = %clash.server, name = %clash.native, exposed = %clash.exposed,
                    "two servers use this name");
            }
        }
        let changed = published.catalog.changed_from(&before.catalog);
        if changed.tools || told.contains(&Kind::Tool) {
            self.announce(Kind::Tool);
        }
        if changed.prompts || told.contains(&Kind::Prompt) {
            self.announce(Kind::Prompt);
        }
        if changed.resources || told.contains(&Kind::Resource) {
            self.announce(Kind::Resource);
        }
    }

    /// Calls `each` for every legacy client that is here and has said who it is.
    pub fn each_session(&self, mut each: impl FnMut(&Arc<Session>)) {
        self.sessions.for_each(&mut each);
        let streams = self.streams.sessions();
        let streaming = streams.iter().filter(|session| session.has_begun());
        streaming.for_each(&mut each);
        if let Some(session) = self.stdio.load_full().filter(|session| session.has_begun()) {
            each(&session);
        }
    }

    /// Lets go of what is over: calls and results that nobody came for, servers and subscriptions of clients that left.
    pub fn sweep(&self) {
        self.traffic.parked.sweep();
        self.results.sweep();
        self.isolated.sweep();
        for (server, owner, uris) in self.subscriptions.sweep() {
            self.watch(&server, owner.as_ref(), uris);
        }
    }

    /// Tells a server, or the one that a client has for itself, which resources are watched.
    pub fn watch(&self, server: &Arc<str>, owner: Option<&Owner>, uris: BTreeSet<String>) {
        let watching = match owner {
            None => self.fleet.member(server).map(|member| member.server.clone()),
            Some(owner) => self.isolated.of_owner(server, owner),
        };
        if let Some(server) = watching {
            server.subscribe(uris);
        }
    }

    fn announce(&self, kind: Kind) {
        let method = match kind {
            Kind::Tool => Method::ToolsChanged,
            Kind::Prompt => Method::PromptsChanged,
            Kind::Resource | Kind::Template | Kind::Skill => Method::ResourcesChanged,
        };
        let message = notice::write(method.name(), None);
        self.each_session(|session| session.mailbox.push(message.clone()));
        self.listeners.for_each(|listener| listener.list_changed(kind));
    }
}
