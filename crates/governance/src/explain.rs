//! Every question a call has to pass, and the answer with its reason: what `toolgate explain` and the admin API show.
//!
//! All questions are answered, also those after the one that stops the call, and nothing is counted.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::approval;
use crate::condition::Facts;
use crate::decision::{Verdict, listed, used};
use crate::meters::{Meters, Remaining};
use crate::permit::{Request, price_of};
use crate::rules::Approver;
use crate::standing::Standing;
use crate::subject::Kind;
use crate::{Micros, Refusal, Stage};

/// Why a call would or would not happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    /// The caller.
    pub caller: Arc<str>,
    /// Its groups.
    pub groups: Vec<Arc<str>>,
    /// The kind of thing.
    pub kind: Kind,
    /// The server.
    pub server: String,
    /// The thing.
    pub name: String,
    /// What would happen.
    pub outcome: StageOutcome,
    /// Where it would stop, if it would.
    pub stopped_at: Option<Stage>,
    /// What the call costs, in micro-units.
    pub price: Micros,
    /// The price rule, if there is one.
    pub price_rule: Option<Arc<str>>,
    /// All questions in order.
    pub stages: Vec<StageReport>,
    /// The state of every limit that counts the call.
    pub remaining: Vec<Remaining>,
    /// The revision of the policy.
    pub revision: u64,
}

/// One question and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StageReport {
    /// The question.
    pub stage: Stage,
    /// The answer.
    pub outcome: StageOutcome,
    /// The rule that gave it, if one did.
    pub rule: Option<Arc<str>>,
    /// The answer in words.
    pub words: String,
    /// What the caller would be told, if it is refused here.
    pub refusal: Option<Refusal>,
}

/// The answer to one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageOutcome {
    /// Go on.
    Passes,
    /// The caller would be told that the thing does not exist.
    Hidden,
    /// The caller would be refused.
    Refused,
    /// The arguments would be refused.
    BadArguments,
    /// Someone would have to agree.
    NeedsApproval,
}

/// Answers all questions about a request without making it.
pub fn explain(standing: &Standing, meters: &Meters, request: &Request<'_>) -> Explanation {
    let Request { subject, now, .. } = *request;
    let grant = standing.grant(&subject);
    let price = price_of(&grant, request);
    let limit_report = |stage| limits_say(stage, meters.check(standing, &grant, stage, price, now));
    let rules = |say: fn(&Standing, &Request<'_>) -> StageReport| {
        let own = say(standing, request);
        let whole = request.whole.map(|whole| say(standing, &Request { subject: whole, ..*request }));
        whole
            .filter(|whole| own.outcome == StageOutcome::Passes && whole.outcome != own.outcome)
            .unwrap_or(own)
    };
    let stages = vec![
        rules(visibility_says),
        limit_report(Stage::Budget),
        limit_report(Stage::Rate),
        rules(permission_says),
        arguments_say(request),
        rules(approval_says),
    ];
    let stopped = stages.iter().find(|report| report.outcome != StageOutcome::Passes);
    Explanation {
        caller: Arc::clone(standing.caller()),
        groups: standing.groups().to_vec(),
        kind: subject.kind,
        server: subject.server.to_owned(),
        name: subject.name.to_owned(),
        outcome: stopped.map_or(StageOutcome::Passes, |report| report.outcome),
        stopped_at: stopped.map(|report| report.stage),
        price,
        price_rule: grant.price.as_ref().map(|price| Arc::clone(&price.rule)),
        remaining: meters.remaining(standing, &subject, now),
        revision: standing.policy().revision(),
        stages,
    }
}

fn facts<'a>(standing: &'a Standing, request: &Request<'a>) -> Facts<'a> {
    let Request { subject, arguments, now, .. } = *request;
    Facts::new(standing.caller(), standing.groups(), subject, arguments, now)
}

fn visibility_says(standing: &Standing, request: &Request<'_>) -> StageReport {
    let grant = standing.grant(&request.subject);
    let in_lists = listed(standing, &grant, &request.subject, request.narrowing);
    let in_use = used(standing, &grant, &facts(standing, request), request.narrowing);
    let hidden = in_use.verdict == Verdict::Hidden;
    let decision = in_lists.in_words(&request.subject);
    let unlisted = decision.verdict != Verdict::Allowed;
    let words = match (hidden, unlisted) {
        (true, _) => in_use.in_words(&request.subject).words,
        (false, true) => format!("not in lists, but can be used: {}", decision.words),
        (false, false) => decision.words,
    };
    let rule = if hidden { in_use.rule() } else { decision.rule };
    let outcome = if hidden { StageOutcome::Hidden } else { StageOutcome::Passes };
    StageReport { stage: Stage::Visibility, outcome, rule: Some(rule), words, refusal: None }
}

fn limits_say(stage: Stage, answer: Result<(), Refusal>) -> StageReport {
    match answer {
        Ok(()) => passes(stage, "no limit is in the way"),
        Err(refusal) => StageReport {
            stage,
            outcome: StageOutcome::Refused,
            rule: Some(Arc::clone(&refusal.rule)),
            words: refusal.words.clone(),
            refusal: Some(refusal),
        },
    }
}

fn permission_says(standing: &Standing, request: &Request<'_>) -> StageReport {
    let grant = standing.grant(&request.subject);
    let decision =
        used(standing, &grant, &facts(standing, request), request.narrowing).in_words(&request.subject);
    let stage = Stage::Permission;
    let refused = decision.verdict != Verdict::Allowed;
    StageReport {
        stage,
        outcome: if refused { StageOutcome::Refused } else { StageOutcome::Passes },
        refusal: refused.then(|| Refusal::by_rule(stage, Arc::clone(&decision.rule), decision.words.clone())),
        rule: Some(decision.rule),
        words: decision.words,
    }
}

fn arguments_say(request: &Request<'_>) -> StageReport {
    let stage = Stage::Arguments;
    match request.argument_check.map(|check| check.check(request.arguments)) {
        None => passes(stage, "not checked"),
        Some(Ok(())) => passes(stage, "they fit"),
        Some(Err(problem)) => StageReport {
            stage,
            outcome: StageOutcome::BadArguments,
            rule: None,
            words: problem.to_string(),
            refusal: None,
        },
    }
}

fn approval_says(standing: &Standing, request: &Request<'_>) -> StageReport {
    let stage = Stage::Approval;
    match approval::needed(standing, &standing.grant(&request.subject), &facts(standing, request)) {
        None => passes(stage, "nobody has to agree"),
        Some(needed) => StageReport {
            stage,
            outcome: StageOutcome::NeedsApproval,
            words: format!(
                "the {} has to agree within {} s",
                match needed.by {
                    Approver::Operator => "operator",
                    Approver::User => "user at the client",
                },
                needed.timeout_seconds
            ),
            rule: Some(needed.rule),
            refusal: None,
        },
    }
}

fn passes(stage: Stage, words: &str) -> StageReport {
    StageReport { stage, outcome: StageOutcome::Passes, rule: None, words: words.to_owned(), refusal: None }
}
