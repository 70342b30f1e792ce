//! One compiled rule of any kind, and what became of a rule that could not be read.

use std::sync::Arc;

use crate::Micros;
use crate::condition::{Condition, Facts};
use crate::meters::CompiledQuota;
use crate::rules::{Action, ApprovalMode, Approver, Effect};
use crate::selector::{WhatSelector, WhoSelector};

/// One compiled rule: whom and what it covers, and what it says about that.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: Arc<str>,
    pub(crate) who: WhoSelector,
    pub(crate) what: WhatSelector,
    pub(crate) clause: Clause,
}

/// What a rule says.
#[derive(Debug)]
pub(crate) enum Clause {
    Permission(Permission),
    Approval(Approval),
    Price(Price),
    Quota(Arc<CompiledQuota>),
}

/// Allow, deny or hide.
#[derive(Debug)]
pub(crate) struct Permission {
    pub(crate) effect: Effect,
    pub(crate) actions: ActionSet,
    pub(crate) condition: Option<Condition>,
    /// The rule stands in for one that could not be read.
    pub(crate) unreadable: bool,
}

/// Whether a call waits for someone's agreement.
#[derive(Debug)]
pub(crate) struct Approval {
    pub(crate) mode: ApprovalMode,
    pub(crate) condition: Option<Condition>,
    pub(crate) by: Approver,
    pub(crate) timeout_seconds: u64,
}

/// What a call costs.
#[derive(Debug)]
pub(crate) struct Price {
    pub(crate) price: Micros,
    pub(crate) refund_on_failure: bool,
}

/// A small set of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActionSet(u8);

/// What a conditional rule says about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The condition holds, or there is none.
    Applies,
    /// The condition does not hold.
    Silent,
    /// The condition could not be evaluated.
    Undecided,
    /// The condition can be evaluated only when the call is made.
    Open,
}

impl ActionSet {
    pub(crate) const ALL: ActionSet = ActionSet(0b1111);
    const USES: ActionSet = ActionSet(0b1110);

    /// The actions a rule covers: those it names, or else all that its effect is meant for. A plain `deny` leaves things listed;
    /// that is the difference between `deny` and `hide`.
    pub(crate) fn of(effect: Effect, named: &[Action]) -> ActionSet {
        match (effect, named) {
            (Effect::Hide, _) | (Effect::Allow, []) => ActionSet::ALL,
            (Effect::Deny, []) => ActionSet::USES,
            (Effect::Allow | Effect::Deny, named) => {
                ActionSet(named.iter().fold(0, |bits, action| bits | ActionSet::bit(*action)))
            }
        }
    }

    pub(crate) fn contains(self, action: Action) -> bool {
        self.0 & ActionSet::bit(action) != 0
    }

    fn bit(action: Action) -> u8 {
        match action {
            Action::List => 0b0001,
            Action::Call => 0b0010,
            Action::Read => 0b0100,
            Action::Get => 0b1000,
        }
    }
}

impl Entry {
    /// Whether lists show anything of the rule: what it hides, or the price, limit or approval it states.
    pub(crate) fn concerns_lists(&self) -> bool {
        match &self.clause {
            Clause::Permission(permission) => permission.shapes_lists(),
            Clause::Approval(_) | Clause::Price(_) | Clause::Quota(_) => true,
        }
    }

    /// Whether the rule may show different lists to callers whom it covers alike, because its condition looks at them.
    pub(crate) fn tells_callers_apart_in_lists(&self) -> bool {
        match &self.clause {
            Clause::Permission(permission) if permission.shapes_lists() => {
                permission.condition.as_ref().is_some_and(Condition::needs_caller)
            }
            _ => false,
        }
    }
}

impl Permission {
    /// What becomes of a rule that cannot be read: it refuses everything it covers, and takes it out of lists if that was its
    /// purpose.
    pub(crate) fn in_place_of_unreadable(effect: Effect, named: &[Action]) -> Permission {
        let actions = match effect {
            Effect::Hide => ActionSet::ALL,
            Effect::Deny if named.contains(&Action::List) => ActionSet::ALL,
            Effect::Deny | Effect::Allow => ActionSet::USES,
        };
        let effect = if effect == Effect::Hide { Effect::Hide } else { Effect::Deny };
        Permission { effect, actions, condition: None, unreadable: true }
    }

    /// What becomes of a price, a quota or an approval that cannot be read.
    pub(crate) fn denial() -> Permission {
        Permission::in_place_of_unreadable(Effect::Deny, &[])
    }

    /// Whether the rule has a say in what lists show.
    pub(crate) fn shapes_lists(&self) -> bool {
        self.actions.contains(Action::List)
    }
}

/// Asks the condition of a rule about a request that is being made.
pub(crate) fn answer(condition: Option<&Condition>, facts: &Facts<'_>) -> Answer {
    match condition.map(|condition| condition.holds(facts)) {
        None | Some(Ok(true)) => Answer::Applies,
        Some(Ok(false)) => Answer::Silent,
        Some(Err(_)) => Answer::Undecided,
    }
}

/// Asks the condition of a rule about a thing in a list, where nobody knows yet with which arguments it will be called.
pub(crate) fn answer_for_lists(condition: Option<&Condition>, facts: &Facts<'_>) -> Answer {
    match condition {
        Some(condition) if condition.is_open_until_called() => Answer::Open,
        condition => answer(condition, facts),
    }
}
