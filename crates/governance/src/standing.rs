//! What the rules have in store for one caller: worked out when it arrives, used for each of its calls.
//!
//! Callers that the same rules cover share one [`RuleClass`] with everything that has been worked out for it, so ten thousand
//! callers under the same rules cost as much as one.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::grant::Grant;
use crate::index::RuleNumber;
use crate::memory::{LONGEST_REMEMBERED, Things};
use crate::policy::Policy;
use crate::subject::Subject;

/// How many things one class remembers. Addresses of resources come from outside, so there must be an end.
const MAX_GRANTS_OF_CLASS: usize = 32_768;

/// How many things all classes of a policy remember together. Beyond this a class that meets a new thing forgets its others.
const MAX_GRANTS: usize = 262_144;

/// A caller under a policy.
#[derive(Clone)]
pub struct Standing {
    policy: Arc<Policy>,
    caller: Arc<str>,
    groups: Arc<[Arc<str>]>,
    class: Arc<RuleClass>,
    visibility: VisibilityClass,
}

/// Callers with the same class see the same lists, word for word: the key for lists that are built once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VisibilityClass {
    /// The policy the class belongs to.
    pub revision: u64,
    /// The number of the class in that policy.
    pub number: u64,
}

/// Everything that decides what a caller sees: rules that shape lists or are shown in them, and the caller itself if one of them
/// looks at it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct VisibilityKey {
    rules: Box<[RuleNumber]>,
    caller: Option<Arc<str>>,
    groups: Option<Arc<[Arc<str>]>>,
}

/// The rules that single out a caller, and what they grant together with the rules for everyone.
#[derive(Debug)]
pub(crate) struct RuleClass {
    numbers: Box<[RuleNumber]>,
    grants: RwLock<Things<Grant>>,
    /// How many grants all classes of the policy remember.
    remembered: Arc<AtomicUsize>,
}

impl Standing {
    pub(crate) fn new(
        policy: Arc<Policy>,
        caller: Arc<str>,
        groups: Arc<[Arc<str>]>,
        class: Arc<RuleClass>,
        visibility: VisibilityClass,
    ) -> Standing {
        Standing { policy, caller, groups, class, visibility }
    }

    /// The policy this standing was worked out under.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The caller.
    pub fn caller(&self) -> &Arc<str> {
        &self.caller
    }

    /// The groups the caller is in.
    pub fn groups(&self) -> &Arc<[Arc<str>]> {
        &self.groups
    }

    /// The class of callers that see the same lists.
    pub fn visibility_class(&self) -> VisibilityClass {
        self.visibility
    }

    /// What the rules grant for one thing, from memory where possible.
    pub(crate) fn grant(&self, subject: &Subject<'_>) -> Arc<Grant> {
        let compile = |numbers: &[RuleNumber]| Grant::compile(&self.policy, numbers, subject);
        let rules = self.policy.rules_about(subject);
        if let Some(shared) = rules.shared_grant(&self.class.numbers, compile) {
            return shared;
        }
        if let Some(known) = self.class.known(subject) {
            return known;
        }
        let grant = Arc::new(compile(&rules.counting(&self.class.numbers)));
        if subject.name.len() <= LONGEST_REMEMBERED {
            self.class.remember(subject, Arc::clone(&grant));
        }
        grant
    }
}

impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standing")
            .field("caller", &self.caller)
            .field("groups", &self.groups)
            .field("visibility", &self.visibility)
            .finish_non_exhaustive()
    }
}

impl VisibilityKey {
    pub(crate) fn new(
        policy: &Policy,
        covering: &[RuleNumber],
        caller: &Arc<str>,
        groups: &Arc<[Arc<str>]>,
    ) -> VisibilityKey {
        let entries = || covering.iter().filter_map(|number| Some((number, policy.entry(*number)?)));
        let looks_at_caller = policy.tells_everyone_apart_in_lists()
            || entries().any(|(_, entry)| entry.tells_callers_apart_in_lists());
        let rules =
            entries().filter(|(_, entry)| entry.concerns_lists()).map(|(number, _)| *number).collect();
        VisibilityKey {
            rules,
            caller: looks_at_caller.then(|| Arc::clone(caller)),
            groups: looks_at_caller.then(|| Arc::clone(groups)),
        }
    }
}

impl RuleClass {
    pub(crate) fn new(numbers: Box<[RuleNumber]>, remembered: Arc<AtomicUsize>) -> RuleClass {
        RuleClass { numbers, grants: RwLock::default(), remembered }
    }

    fn known(&self, subject: &Subject<'_>) -> Option<Arc<Grant>> {
        let grants = self.grants.read().unwrap_or_else(PoisonError::into_inner);
        grants.get(subject)
    }

    fn remember(&self, subject: &Subject<'_>, grant: Arc<Grant>) {
        let mut grants = self.grants.write().unwrap_or_else(PoisonError::into_inner);
        let crowded = self.remembered.load(Ordering::Relaxed) >= MAX_GRANTS;
        if crowded || grants.len() >= MAX_GRANTS_OF_CLASS {
            self.remembered.fetch_sub(grants.len(), Ordering::Relaxed);
            *grants = Things::default();
        }
        if grants.insert(subject, grant) {
            self.remembered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for RuleClass {
    fn drop(&mut self) {
        let grants = self.grants.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.remembered.fetch_sub(grants.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Effect, Rule, Rules, What, Who};

    fn own_rule(caller: &str) -> Rule {
        let who = Who { callers: vec![caller.to_owned()], groups: vec![] };
        Rule { id: None, effect: Effect::Deny, who, what: What::default(), actions: vec![], when: None }
    }

    #[test]
    fn long_names_are_judged_and_not_remembered() {
        let mut rules = Rules::default();
        rules.policy.rules = vec![own_rule("anna")];
        let (policy, _) = Policy::compile(&rules, 1);
        let standing = policy.standing("anna".into(), Arc::default());
        let long = format!("file:///{}", "x".repeat(4_000));
        let other = format!("{long}y");
        let grant = standing.grant(&Subject::resource("s", &long));
        assert_eq!(grant.denies.len(), 1);
        assert!(grant.name.len() < 1_000, "{}", grant.name.len());
        assert_ne!(grant.name, standing.grant(&Subject::resource("s", &other)).name);
        assert!(!Arc::ptr_eq(&grant, &standing.grant(&Subject::resource("s", &long))));
        let short = Subject::resource("s", "file:///x");
        assert!(Arc::ptr_eq(&standing.grant(&short), &standing.grant(&short)));
    }

    #[test]
    fn memory_of_things_has_an_end() {
        let mut rules = Rules::default();
        // So many rules about everything that classes remember for themselves.
        rules.policy.rules = (0..40).map(|number| own_rule(&number.to_string())).collect();
        let (policy, _) = Policy::compile(&rules, 1);
        let standings: Vec<Standing> =
            (0..10).map(|number| policy.standing(number.to_string().into(), Arc::default())).collect();
        let remembered = Arc::clone(&standings[0].class.remembered);
        for address in 0..MAX_GRANTS_OF_CLASS + 10 {
            let address = format!("file:///{address}");
            for standing in &standings {
                standing.grant(&Subject::resource("s", &address));
            }
        }
        let counts: Vec<usize> =
            standings.iter().map(|standing| standing.class.grants.read().unwrap().len()).collect();
        assert!(counts.iter().all(|count| *count <= MAX_GRANTS_OF_CLASS), "{counts:?}");
        assert!(counts.iter().sum::<usize>() <= MAX_GRANTS + standings.len(), "{counts:?}");
        assert_eq!(remembered.load(Ordering::Relaxed), counts.iter().sum::<usize>());
        drop((standings, policy));
        assert_eq!(remembered.load(Ordering::Relaxed), 0);
    }
}
