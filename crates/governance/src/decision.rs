//! May this caller see this thing, and use it? Which rule says so?
//!
//! Three layers, each of which only takes away: what the administrator lets a server offer, the rules about callers and groups,
//! and what the request itself leaves out. Among rules `hide` beats `deny` and `deny` beats `allow`; where no rule speaks, the
//! default does. A refusal is only ever told about things that can be seen: everything else is hidden.

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::condition::Facts;
use crate::entry::{Answer, Clause, Entry, Permission, answer, answer_for_lists};
use crate::grant::Grant;
use crate::index::RuleNumber;
use crate::narrowing::Narrowing;
use crate::policy::Policy;
use crate::rules::{Action, DefaultEffect, Effect};
use crate::standing::Standing;
use crate::subject::Subject;
use crate::{Denied, Refusal, Stage};

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Go ahead.
    Allowed,
    /// The caller may know of it, but not use it so.
    Refused,
    /// For this caller it does not exist.
    Hidden,
}

/// What was decided, and by what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Decision {
    /// What was decided.
    pub verdict: Verdict,
    /// The rule, list or default that decided.
    pub rule: Arc<str>,
    /// The decision in words.
    pub words: String,
}

impl Standing {
    /// Whether the thing appears in this caller's lists.
    pub fn is_visible(&self, subject: &Subject<'_>, narrowing: Option<&Narrowing>) -> bool {
        let grant = self.grant(subject);
        listed(self, &grant, subject, narrowing).verdict == Verdict::Allowed
    }

    /// Whether the thing appears in this caller's lists, and why.
    pub fn decide_listing(&self, subject: &Subject<'_>, narrowing: Option<&Narrowing>) -> Decision {
        listed(self, &self.grant(subject), subject, narrowing).in_words(subject)
    }

    /// Whether the caller may use the thing, leaving aside what it costs. `arguments` is the JSON text of the call's arguments.
    pub fn decide_use(
        &self,
        subject: &Subject<'_>,
        narrowing: Option<&Narrowing>,
        arguments: Option<&[u8]>,
        now: Timestamp,
    ) -> Decision {
        let facts = Facts::new(self.caller(), self.groups(), *subject, arguments, now);
        used(self, &self.grant(subject), &facts, narrowing).in_words(subject)
    }
}

impl Decision {
    /// The denial that it is, if it is one.
    pub fn denied(self) -> Option<Denied> {
        match self.verdict {
            Verdict::Allowed => None,
            Verdict::Hidden => Some(Denied::Unknown { rule: self.rule }),
            Verdict::Refused => Some(Refusal::by_rule(Stage::Permission, self.rule, self.words).into()),
        }
    }
}

/// A decision before anyone asked for words; making them costs more than deciding.
#[derive(Debug)]
pub(crate) struct Finding<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) cause: Cause<'a>,
}

/// What brought a decision about.
#[derive(Debug)]
pub(crate) enum Cause<'a> {
    /// The request left the thing out.
    Request,
    /// The server's list of allowed tools does not have it.
    NotOffered,
    /// A rule decided.
    Rule(&'a Entry, Answer),
    /// No rule spoke; this is the first one that would have allowed it, had its condition held.
    Default(DefaultEffect, Option<&'a Entry>),
}

/// May it be listed?
pub(crate) fn listed<'a>(
    standing: &'a Standing,
    grant: &Grant,
    subject: &Subject<'_>,
    narrowing: Option<&Narrowing>,
) -> Finding<'a> {
    if let Some(cause) = left_out(grant, subject, narrowing) {
        return Finding { verdict: Verdict::Hidden, cause };
    }
    // Conditions on the time are open in lists, so any time will do.
    let facts = Facts::new(standing.caller(), standing.groups(), *subject, None, Timestamp::UNIX_EPOCH);
    let finding = weigh(standing.policy(), grant, Action::List, |permission| {
        answer_for_lists(permission.condition.as_ref(), &facts)
    });
    match finding.verdict {
        Verdict::Allowed => finding,
        Verdict::Refused | Verdict::Hidden => Finding { verdict: Verdict::Hidden, ..finding },
    }
}

/// May it be called, read or fetched?
pub(crate) fn used<'a>(
    standing: &'a Standing,
    grant: &Grant,
    facts: &Facts<'_>,
    narrowing: Option<&Narrowing>,
) -> Finding<'a> {
    let subject = facts.subject();
    if let Some(cause) = left_out(grant, subject, narrowing) {
        return Finding { verdict: Verdict::Hidden, cause };
    }
    let finding = weigh(standing.policy(), grant, subject.kind.action(), |permission| {
        answer(permission.condition.as_ref(), facts)
    });
    // A refusal would tell that the thing exists.
    if finding.verdict == Verdict::Refused
        && listed(standing, grant, subject, narrowing).verdict != Verdict::Allowed
    {
        return Finding { verdict: Verdict::Hidden, ..finding };
    }
    finding
}

fn left_out<'a>(grant: &Grant, subject: &Subject<'_>, narrowing: Option<&Narrowing>) -> Option<Cause<'a>> {
    if !grant.offered {
        return Some(Cause::NotOffered);
    }
    narrowing.is_some_and(|narrowing| !narrowing.leaves(subject)).then_some(Cause::Request)
}

/// Hide, then deny, then allow, then the default. A condition that gives no answer counts against the call.
fn weigh<'a>(
    policy: &'a Policy,
    grant: &Grant,
    action: Action,
    ask: impl Fn(&Permission) -> Answer,
) -> Finding<'a> {
    let against = |numbers: &[RuleNumber]| {
        permissions(policy, numbers, action).find_map(|(entry, permission)| match ask(permission) {
            answer @ (Answer::Applies | Answer::Undecided) => Some(Cause::Rule(entry, answer)),
            Answer::Silent | Answer::Open => None,
        })
    };
    if let Some(cause) = against(&grant.hides) {
        return Finding { verdict: Verdict::Hidden, cause };
    }
    if let Some(cause) = against(&grant.denies) {
        return Finding { verdict: Verdict::Refused, cause };
    }
    if grant.default == DefaultEffect::Allow {
        return Finding { verdict: Verdict::Allowed, cause: Cause::Default(grant.default, None) };
    }
    let mut nearly = None;
    for (entry, permission) in permissions(policy, &grant.allows, action) {
        match ask(permission) {
            answer @ (Answer::Applies | Answer::Open) => {
                return Finding { verdict: Verdict::Allowed, cause: Cause::Rule(entry, answer) };
            }
            Answer::Silent | Answer::Undecided => nearly = nearly.or(Some(entry)),
        }
    }
    Finding { verdict: Verdict::Refused, cause: Cause::Default(grant.default, nearly) }
}

fn permissions<'a>(
    policy: &'a Policy,
    numbers: &[RuleNumber],
    action: Action,
) -> impl Iterator<Item = (&'a Entry, &'a Permission)> {
    numbers.iter().filter_map(|number| policy.entry(*number)).filter_map(move |entry| match &entry.clause {
        Clause::Permission(permission) if permission.actions.contains(action) => Some((entry, permission)),
        _ => None,
    })
}

impl Finding<'_> {
    /// The name of what decided.
    pub(crate) fn rule(&self) -> Arc<str> {
        match &self.cause {
            Cause::Request => "request".into(),
            Cause::NotOffered => "allowed_tools".into(),
            Cause::Rule(entry, _) => Arc::clone(&entry.id),
            Cause::Default(..) => "policy.default".into(),
        }
    }

    /// Adds the words.
    pub(crate) fn in_words(&self, subject: &Subject<'_>) -> Decision {
        let thing = format!("{} `{}` of server `{}`", subject.kind.word(), subject.name, subject.server);
        let words = match &self.cause {
            Cause::Request => format!("the request itself leaves out {thing}"),
            Cause::NotOffered => {
                format!("the allowed_tools of server `{}` do not include {thing}", subject.server)
            }
            Cause::Rule(entry, answer) => {
                let rule = &entry.id;
                format!("rule `{rule}` {} {thing}{}", effect_word(entry), answer_words(entry, *answer))
            }
            Cause::Default(DefaultEffect::Allow, _) => format!("no rule speaks against {thing}"),
            Cause::Default(DefaultEffect::Deny, None) => {
                format!("no rule allows {thing}, and the default is to deny")
            }
            Cause::Default(DefaultEffect::Deny, Some(entry)) => {
                format!("rule `{}` would allow {thing}, but its condition does not hold", entry.id)
            }
        };
        Decision { verdict: self.verdict, rule: self.rule(), words }
    }
}

fn effect_word(entry: &Entry) -> &'static str {
    match &entry.clause {
        Clause::Permission(Permission { effect: Effect::Allow, .. }) => "allows",
        Clause::Permission(Permission { effect: Effect::Hide, .. }) => "hides",
        _ => "denies",
    }
}

fn answer_words(entry: &Entry, answer: Answer) -> &'static str {
    match (&entry.clause, answer) {
        (Clause::Permission(Permission { unreadable: true, .. }), _) => ", because it cannot be read",
        (_, Answer::Undecided) => ", because its condition gave no answer for these arguments",
        (_, Answer::Open) => " for some arguments or at some times",
        (_, Answer::Applies | Answer::Silent) => "",
    }
}
