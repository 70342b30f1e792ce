//! A compiled policy: immutable, shared by all threads, replaced as a whole when the rules change.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

use crate::compile::Compiled;
use crate::entry::Entry;
use crate::index::RuleNumber;
use crate::memory::{Memory, ThingRules};
use crate::rules::DefaultEffect;
use crate::standing::{RuleClass, Standing, VisibilityClass, VisibilityKey};
use crate::subject::{Kind, Subject};

/// How many classes are remembered. Beyond this the memory is emptied: only sharing is lost, nothing else.
const MAX_CLASSES: usize = 65_536;

/// How many things are remembered with the rules about them.
const MAX_THINGS: usize = 65_536;

/// The rules, ready to decide.
#[derive(Debug)]
pub struct Policy {
    rules: Compiled,
    revision: u64,
    classes: Mutex<Classes>,
    things: Memory<ThingRules>,
}

/// Classes that have been met. Touched when a caller arrives, never by a call.
#[derive(Debug, Default)]
struct Classes {
    by_rules: HashMap<Box<[RuleNumber]>, Arc<RuleClass>>,
    by_visibility: HashMap<VisibilityKey, VisibilityClass>,
    last_visibility: u64,
    remembered_grants: Arc<AtomicUsize>,
}

impl Policy {
    pub(crate) fn new(rules: Compiled, revision: u64) -> Policy {
        Policy { rules, revision, classes: Mutex::default(), things: Memory::with_capacity(MAX_THINGS) }
    }

    /// The name of this state of the rules.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// What the rules have in store for a caller. Takes a little time; keep it for as long as the caller and the policy stay
    /// the same, for instance with the caller's connection.
    pub fn standing(self: &Arc<Policy>, caller: Arc<str>, groups: Arc<[Arc<str>]>) -> Standing {
        let covers = |number| self.entry(number).is_some_and(|entry| entry.who.covers(&caller, &groups));
        let numbers = self.rules.who.covering(&caller, &groups, covers);
        let key = VisibilityKey::new(self, &numbers, &caller, &groups);
        let mut classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        let class = classes.of_rules(numbers);
        let visibility = classes.of_visibility(key, self.revision);
        drop(classes);
        Standing::new(Arc::clone(self), caller, groups, class, visibility)
    }

    pub(crate) fn default_effect(&self) -> DefaultEffect {
        self.rules.default
    }

    pub(crate) fn entry(&self, number: RuleNumber) -> Option<&Entry> {
        self.rules.entries.get(number as usize)
    }

    /// The rules about the thing, whomever they cover; from memory where possible.
    pub(crate) fn rules_about(&self, subject: &Subject<'_>) -> Arc<ThingRules> {
        self.things.recall(subject, || {
            let candidates = self.rules.what.candidates(subject).into_iter().flatten().copied();
            let covers =
                |number: &RuleNumber| self.entry(*number).is_some_and(|entry| entry.what.covers(subject));
            let mut numbers: Vec<RuleNumber> = candidates.filter(covers).collect();
            numbers.sort_unstable();
            ThingRules::new(numbers.into())
        })
    }

    /// The rules among `covering` that are about the thing, in the order of the file. Looks through the shorter of the two: the
    /// rules that cover the caller, or those that can be about the thing.
    pub(crate) fn about(&self, subject: &Subject<'_>, covering: &[RuleNumber]) -> Vec<(RuleNumber, &Entry)> {
        let is_about = |number: &RuleNumber| {
            let entry = self.entry(*number)?;
            entry.what.covers(subject).then_some((*number, entry))
        };
        let candidates = self.rules.what.candidates(subject);
        if covering.len() <= candidates.iter().map(|list| list.len()).sum() {
            return covering.iter().filter_map(is_about).collect();
        }
        let candidates = candidates.into_iter().flatten();
        let mut found: Vec<_> =
            candidates.filter(|number| covering.binary_search(number).is_ok()).filter_map(is_about).collect();
        found.sort_unstable_by_key(|(number, _)| *number);
        found
    }

    /// Whether the server may offer the thing to anyone. Servers without a list of allowed tools may offer all they have.
    pub(crate) fn is_offered(&self, subject: &Subject<'_>) -> bool {
        let restricted =
            if subject.kind == Kind::Tool { self.rules.offered.get(subject.server) } else { None };
        restricted.is_none_or(|allowed| allowed.fits(subject.name))
    }
}

impl Classes {
    fn of_rules(&mut self, numbers: Box<[RuleNumber]>) -> Arc<RuleClass> {
        if let Some(class) = self.by_rules.get(&numbers) {
            return Arc::clone(class);
        }
        if self.by_rules.len() >= MAX_CLASSES {
            self.by_rules.clear();
        }
        let class = Arc::new(RuleClass::new(numbers.clone(), Arc::clone(&self.remembered_grants)));
        self.by_rules.insert(numbers, Arc::clone(&class));
        class
    }

    fn of_visibility(&mut self, key: VisibilityKey, revision: u64) -> VisibilityClass {
        if let Some(class) = self.by_visibility.get(&key) {
            return *class;
        }
        if self.by_visibility.len() >= MAX_CLASSES {
            self.by_visibility.clear();
        }
        // Numbers are never used again, so that a class which was forgotten cannot be taken for another one.
        self.last_visibility += 1;
        let class = VisibilityClass { revision, number: self.last_visibility };
        self.by_visibility.insert(key, class);
        class
    }
}
