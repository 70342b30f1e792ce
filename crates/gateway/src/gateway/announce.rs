//! Telling clients what changed: each of its own lists, and of no other.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use foldhash::HashMap;
use toolgate_governance::{Policy, Standing, VisibilityClass};
use toolgate_protocol::Method;

use crate::catalog::Kind;
use crate::gateway::Gateway;
use crate::isolated::Owner;
use crate::pipeline::lists;
use crate::principal::Principal;
use crate::published::Published;
use crate::relay::notice;
use crate::session::Session;

impl Gateway {
    /// Makes the catalogue anew from what the servers list now, and tells clients whose lists changed.
    pub fn publish(&self) {
        self.publish_for(None);
    }

    /// The same; clients are told of lists that a server said have changed if they see anything of it there.
    pub(super) fn publish_for(&self, said: Option<Said<'_>>) {
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
        let policy = self.gate.policy();
        self.tell(Moment { published: &before, policy: &policy }, &published, |kind| changed.has(kind), said);
    }

    /// Puts other rules in place and tells clients whose lists they change. Calls under way finish under the rules they
    /// began with.
    pub fn set_policy(&self, policy: Arc<Policy>) {
        let _one_at_a_time = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.gate.policy();
        self.gate.set_policy(policy);
        let published = self.published.load_full();
        self.tell(Moment { published: &published, policy: &before }, &published, |_| true, None);
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

    /// Tells each client of those of its lists that are not what they were. `may` says which can have changed at all.
    fn tell(&self, before: Moment<'_>, now: &Published, may: impl Fn(Kind) -> bool, said: Option<Said<'_>>) {
        let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| may(*kind)).collect();
        if kinds.is_empty() && said.is_none() {
            return;
        }
        // Many clients see the same.
        let mut known: HashMap<(VisibilityClass, VisibilityClass), Vec<Kind>> = HashMap::default();
        let mut changed_for = |principal: &Principal| {
            let (old, new) = (before.standing(principal), self.gate.standing(principal));
            let classes = (old.visibility_class(), new.visibility_class());
            let changed = known.entry(classes).or_insert_with(|| {
                let (old, new) = ((before.published, &old), (now, &*new));
                let differ = kinds.iter().copied().filter(|kind| lists::has_changed(old, new, *kind));
                let said = said.iter().flat_map(|said| said.shown(old, new));
                announced(differ.chain(said))
            });
            changed.clone()
        };
        self.each_session(|session| {
            for kind in changed_for(&session.principal) {
                session.mailbox.push(notice::write(method(kind).name(), None));
            }
        });
        self.listeners.for_each(|listener| {
            for kind in changed_for(&listener.principal) {
                listener.list_changed(kind);
            }
        });
    }
}

/// Lists that a server said have changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'a> {
    pub server: &'a str,
    pub kinds: &'a [Kind],
}

/// What clients saw at one moment, and by which rules.
#[derive(Clone, Copy)]
struct Moment<'a> {
    published: &'a Published,
    policy: &'a Arc<Policy>,
}

impl Moment<'_> {
    fn standing(&self, principal: &Principal) -> Standing {
        self.policy.standing(Arc::clone(&principal.id), Arc::clone(&principal.groups))
    }
}

impl Said<'_> {
    /// Those of the lists in which a client sees, or saw, anything of the server.
    fn shown(&self, old: (&Published, &Standing), new: (&Published, &Standing)) -> Vec<Kind> {
        let shows = |(published, standing): (&Published, &Standing), kind: Kind| {
            lists::shows(published, standing, kind, self.server)
        };
        self.kinds.iter().copied().filter(|kind| shows(old, *kind) || shows(new, *kind)).collect()
    }
}

/// One kind for each notification that the kinds ask for.
fn announced(kinds: impl Iterator<Item = Kind>) -> Vec<Kind> {
    let mut distinct: Vec<Kind> = Vec::new();
    for kind in kinds {
        if !distinct.iter().any(|known| method(*known) == method(kind)) {
            distinct.push(kind);
        }
    }
    distinct
}

/// The notification that tells of a changed list.
fn method(kind: Kind) -> Method {
    match kind {
        Kind::Tool => Method::ToolsChanged,
        Kind::Prompt => Method::PromptsChanged,
        Kind::Resource | Kind::Template | Kind::Skill => Method::ResourcesChanged,
    }
}
