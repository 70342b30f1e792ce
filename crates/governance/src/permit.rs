//! The one place where a call becomes [`Permitted`]. Code that reaches a server accepts nothing else, so there is no way round the
//! questions asked here: is it visible, is there money, is there rate, is it permitted, do the arguments fit, must someone agree.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::approval::{self, ApprovalNeeded};
use crate::condition::Facts;
use crate::decision::{Finding, Verdict, used};
use crate::grant::Grant;
use crate::meters::{Meters, Remaining, Reservation};
use crate::narrowing::Narrowing;
use crate::standing::Standing;
use crate::subject::Subject;
use crate::{ArgumentProblem, Denied, Micros, Refusal, Stage};

/// Says whether arguments fit a tool. Whoever knows the tool's schema implements it.
pub trait ArgumentCheck {
    /// Checks the JSON text of the arguments; `None` if the call has none.
    fn check(&self, arguments: Option<&[u8]>) -> Result<(), ArgumentProblem>;
}

/// A wish to use a thing.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The thing.
    pub subject: Subject<'a>,
    /// What the thing is a part of. Who may not use that may not use this; who must be agreed with there, must be here.
    pub whole: Option<Subject<'a>>,
    /// What the request itself leaves out.
    pub narrowing: Option<&'a Narrowing>,
    /// The JSON text of the arguments. Decoded only for rules that look at them.
    pub arguments: Option<&'a [u8]>,
    /// Whether the arguments fit.
    pub argument_check: Option<&'a dyn ArgumentCheck>,
    /// What the tool itself says it costs. A price rule of the operator comes before it.
    pub declared_price: Option<Micros>,
    /// The time.
    pub now: Timestamp,
}

/// What came of a request that was not denied.
#[derive(Debug)]
#[must_use = "a permission that is dropped is refunded"]
pub enum Admitted<T> {
    /// It may run now.
    Permitted(Permitted<T>),
    /// It may run when someone agrees.
    Waiting(Waiting<T>),
}

/// A call that may run. It cannot be made anywhere else, and it holds what the call has reserved.
#[derive(Debug)]
#[must_use = "a permission that is dropped is refunded"]
pub struct Permitted<T> {
    call: T,
    terms: Terms,
}

/// A call that may run when someone agrees. Dropping it is the same as refusing it.
#[derive(Debug)]
#[must_use = "a call that is dropped is refused"]
pub struct Waiting<T> {
    permitted: Permitted<T>,
    needed: ApprovalNeeded,
}

/// What a call may cost and under which rules it runs.
#[derive(Debug)]
#[must_use = "a reservation that is dropped is refunded"]
pub struct Terms {
    reservation: Reservation,
    refund_on_failure: bool,
    revision: u64,
}

/// How a call ended, as far as money is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The call did what it should.
    Succeeded,
    /// The call failed, or was given up.
    Failed,
}

/// Asks every question in order. What was reserved on the way to a denial is given back.
pub fn admit<T>(
    standing: &Standing,
    meters: &Meters,
    request: &Request<'_>,
    call: T,
) -> Result<Admitted<T>, Denied> {
    let own = Ruling::about(standing, request, request.subject);
    let whole = request.whole.map(|whole| Ruling::about(standing, request, whole));
    let rulings = || [Some(&own), whole.as_ref()].into_iter().flatten();
    if let Some(hiding) = rulings().find(|ruling| ruling.finding.verdict == Verdict::Hidden) {
        return Err(Denied::Unknown { rule: hiding.finding.rule() });
    }
    let Ruling { grant, facts, .. } = &own;
    let reservation = meters.reserve(standing, grant, price_of(grant, request), request.now)?;
    if let Some(refusing) = rulings().find(|ruling| ruling.finding.verdict == Verdict::Refused) {
        reservation.undo();
        return Err(refusing.refusal());
    }
    if let Err(problem) = request.argument_check.map_or(Ok(()), |check| check.check(request.arguments)) {
        reservation.undo();
        return Err(problem.into());
    }
    let needed = rulings().find_map(|ruling| approval::needed(standing, &ruling.grant, &ruling.facts));
    if let Some(problem) = facts.unreadable_arguments() {
        reservation.undo();
        return Err(problem.clone().into());
    }
    let refund_on_failure = grant.price.as_ref().is_none_or(|price| price.refund_on_failure);
    let terms = Terms { reservation, refund_on_failure, revision: standing.policy().revision() };
    let permitted = Permitted { call, terms };
    Ok(match needed {
        None => Admitted::Permitted(permitted),
        Some(needed) => Admitted::Waiting(Waiting { permitted, needed }),
    })
}

/// What the rules say about one thing of a request.
struct Ruling<'a> {
    grant: Arc<Grant>,
    facts: Facts<'a>,
    finding: Finding<'a>,
}

impl<'a> Ruling<'a> {
    fn about(standing: &'a Standing, request: &Request<'a>, subject: Subject<'a>) -> Ruling<'a> {
        let grant = standing.grant(&subject);
        let facts = Facts::new(standing.caller(), standing.groups(), subject, request.arguments, request.now);
        let finding = used(standing, &grant, &facts, request.narrowing);
        Ruling { grant, facts, finding }
    }

    fn refusal(&self) -> Denied {
        if let Some(problem) = self.facts.unreadable_arguments() {
            return problem.clone().into();
        }
        let words = self.finding.in_words(self.facts.subject()).words;
        Refusal::by_rule(Stage::Permission, self.finding.rule(), words).into()
    }
}

/// Asks only what limits say: the caller has a right to the thing already, because it is its own.
pub fn admit_owner(standing: &Standing, meters: &Meters, request: &Request<'_>) -> Result<Terms, Refusal> {
    let grant = standing.grant(&request.subject);
    let reservation = meters.reserve(standing, &grant, price_of(&grant, request), request.now)?;
    let refund_on_failure = grant.price.as_ref().is_none_or(|price| price.refund_on_failure);
    Ok(Terms { reservation, refund_on_failure, revision: standing.policy().revision() })
}

/// The operator's price comes first, then the tool's own, and without either it is free.
pub(crate) fn price_of(grant: &Grant, request: &Request<'_>) -> Micros {
    grant.price.as_ref().map(|price| price.price).or(request.declared_price).unwrap_or_default()
}

impl<T> Waiting<T> {
    /// What the call waits for.
    pub fn needed(&self) -> &ApprovalNeeded {
        &self.needed
    }

    /// The call.
    pub fn call(&self) -> &T {
        &self.permitted.call
    }

    /// Someone agreed.
    pub fn approve(self) -> Permitted<T> {
        self.permitted
    }

    /// Someone refused, or nobody answered in time. `reason` is told to the caller.
    pub fn refuse(self, reason: &str) -> Refusal {
        let Waiting { permitted, needed } = self;
        permitted.terms.reservation.undo();
        let words = format!("approval is needed by rule `{}`: {reason}", needed.rule);
        Refusal::by_rule(Stage::Approval, Arc::clone(&needed.rule), words)
    }
}

impl<T> Permitted<T> {
    /// The call.
    pub fn call(&self) -> &T {
        &self.call
    }

    /// The price and the rules the call runs under.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Takes the call out to run it. The terms have to be kept until it ends.
    pub fn into_parts(self) -> (T, Terms) {
        (self.call, self.terms)
    }
}

impl Terms {
    /// What was reserved.
    pub fn price(&self) -> Micros {
        self.reservation.price()
    }

    /// The revision of the policy that permitted the call.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether there is a limit that counts this call.
    pub fn are_limited(&self) -> bool {
        self.reservation.is_counted()
    }

    /// The limits that count this call, with this call in them.
    pub fn remaining(&self, now: Timestamp) -> Vec<Remaining> {
        self.reservation.remaining(now)
    }

    /// Ends the call at its price, or for nothing if it failed and failures are free. Says what was charged.
    pub fn settle(self, outcome: Outcome) -> Micros {
        let price = self.reservation.price();
        match outcome {
            Outcome::Failed if self.refund_on_failure => self.reservation.settle(Micros::ZERO),
            Outcome::Failed | Outcome::Succeeded => self.reservation.settle(price),
        }
    }

    /// Ends the call without charging it; dropping the terms does the same.
    pub fn refund(self) {
        drop(self);
    }

    /// Ends the call at a price that was known only afterwards, at most what was reserved. Says what was charged.
    pub fn settle_at(self, actual: Micros) -> Micros {
        self.reservation.settle(actual)
    }
}

impl fmt::Debug for Request<'_> {
    /// Arguments may hold secrets and are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("subject", &self.subject)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

impl<'a> Request<'a> {
    /// A plain request: no narrowing, no arguments, no price of its own.
    pub fn new(subject: Subject<'a>, now: Timestamp) -> Request<'a> {
        Request {
            subject,
            whole: None,
            narrowing: None,
            arguments: None,
            argument_check: None,
            declared_price: None,
            now,
        }
    }
}
