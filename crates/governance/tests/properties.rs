//! Properties 4, 6, 10 and 12 of the gate, on generated rules and calls.
//!
//! An oracle decides by reading the rules one by one in the most obvious way; the gate, with its indexes and memories, must agree.

#![expect(clippy::unwrap_used, reason = "a test whose scene cannot be set must fail")]

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use toolgate_governance::rules::{
    Action, DefaultEffect, Effect, Per, PolicyRules, PriceRule, Quota, Rule, Rules, What, Who,
};
use toolgate_governance::{
    Admitted, ArgumentCheck, ArgumentProblem, Denied, Meters, Micros, Outcome, PastUse, Policy, Request,
    Stage, Standing, Subject, admit,
};

const CALLERS: [&str; 4] = ["a", "ab", "b", "ba"];
const GROUPS: [&str; 3] = ["g", "gh", "h"];
const SERVERS: [&str; 2] = ["s", "t"];
const TOOLS: [&str; 4] = ["x", "xy", "y", "yx"];

fn noon() -> Timestamp {
    "2026-08-03T12:00:00Z".parse().unwrap()
}

fn patterns(names: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let mut choice: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    choice.extend(names.iter().map(|name| format!("{}*", &name[..1])));
    choice.extend(["*".to_owned(), "?".to_owned()]);
    vec(select(choice), 0..3)
}

fn who() -> impl Strategy<Value = Who> {
    (patterns(&CALLERS), patterns(&GROUPS)).prop_map(|(callers, groups)| Who { callers, groups })
}

fn what() -> impl Strategy<Value = What> {
    (patterns(&SERVERS), patterns(&TOOLS)).prop_map(|(servers, tools)| What {
        servers,
        tools,
        ..What::default()
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    let effect = select(vec![Effect::Allow, Effect::Deny, Effect::Hide]);
    let actions = subsequence(vec![Action::List, Action::Call, Action::Read], 0..3);
    (effect, who(), what(), actions).prop_map(|(effect, who, what, actions)| Rule {
        id: None,
        effect,
        who,
        what,
        actions,
        when: None,
    })
}

fn policy() -> impl Strategy<Value = PolicyRules> {
    (select(vec![DefaultEffect::Allow, DefaultEffect::Deny]), vec(rule(), 0..8))
        .prop_map(|(default, rules)| PolicyRules { default, rules })
}

fn quota() -> impl Strategy<Value = Quota> {
    let per = select(vec![Per::Caller, Per::Group, Per::Tool, Per::CallerAndTool, Per::All]);
    (who(), what(), per, proptest::option::of(0_u64..40), proptest::option::of(0_u64..6)).prop_map(
        |(who, what, per, budget, calls)| Quota {
            who,
            what,
            per,
            budget_per_month: budget.map(Micros),
            calls_per_day: calls,
            ..Quota::default()
        },
    )
}

fn rules() -> impl Strategy<Value = Rules> {
    let prices = vec((who(), what(), 0_u64..12), 0..3).prop_map(|prices| {
        let price = |(who, what, price)| PriceRule {
            id: None,
            who,
            what,
            price: Micros(price),
            refund_on_failure: true,
        };
        prices.into_iter().map(price).collect()
    });
    let offered = proptest::option::of(patterns(&TOOLS));
    (policy(), prices, vec(quota(), 0..4), offered).prop_map(|(policy, prices, mut quotas, offered)| {
        for (place, quota) in quotas.iter_mut().enumerate() {
            quota.id = Some(format!("q{place}"));
        }
        let server_allowed: BTreeMap<_, _> =
            offered.map(|tools| ("s".to_owned(), tools)).into_iter().collect();
        Rules { policy, prices, quotas, server_allowed, ..Rules::default() }
    })
}

type Call = (&'static str, Vec<&'static str>, &'static str, &'static str);

fn call() -> impl Strategy<Value = Call> {
    (
        select(CALLERS.to_vec()),
        subsequence(GROUPS.to_vec(), 0..3),
        select(SERVERS.to_vec()),
        select(TOOLS.to_vec()),
    )
}

fn standing(policy: &Arc<Policy>, caller: &str, groups: &[&str]) -> Standing {
    policy.standing(caller.into(), groups.iter().map(|group| Arc::from(*group)).collect())
}

mod oracle {
    use super::*;

    fn fits(pattern: &str, name: &str) -> bool {
        match (pattern.chars().next(), name.chars().next()) {
            (None, None) => true,
            (Some('*'), _) => fits(&pattern[1..], name) || (!name.is_empty() && fits(pattern, &name[1..])),
            (Some(wanted), Some(found)) => {
                (wanted == '?' || wanted == found) && fits(&pattern[1..], &name[1..])
            }
            _ => false,
        }
    }

    fn any(patterns: &[String], name: &str) -> bool {
        patterns.iter().any(|pattern| fits(pattern, name))
    }

    pub(super) fn covers(who: &Who, what: &What, call: &Call) -> bool {
        let (caller, groups, server, tool) = call;
        let everyone = who.callers.is_empty() && who.groups.is_empty();
        (everyone || any(&who.callers, caller) || groups.iter().any(|group| any(&who.groups, group)))
            && (what.servers.is_empty() || any(&what.servers, server))
            && (what.tools.is_empty() || any(&what.tools, tool))
    }

    /// The strongest effect on an action.
    fn effect(rules: &Rules, call: &Call, action: Action) -> Effect {
        let applies = |rule: &&Rule| {
            let by_default = rule.effect != Effect::Deny || action != Action::List;
            let on_action = match rule.effect {
                Effect::Hide => true,
                _ if rule.actions.is_empty() => by_default,
                _ => rule.actions.contains(&action),
            };
            on_action && covers(&rule.who, &rule.what, call)
        };
        let effects: Vec<Effect> =
            rules.policy.rules.iter().filter(applies).map(|rule| rule.effect).collect();
        match rules.policy.default {
            _ if effects.contains(&Effect::Hide) => Effect::Hide,
            _ if effects.contains(&Effect::Deny) => Effect::Deny,
            DefaultEffect::Deny if !effects.contains(&Effect::Allow) => Effect::Deny,
            _ => Effect::Allow,
        }
    }

    fn offered(rules: &Rules, call: &Call) -> bool {
        rules.server_allowed.get(call.2).is_none_or(|tools| any(tools, call.3))
    }

    pub(super) fn listed(rules: &Rules, call: &Call) -> bool {
        offered(rules, call) && effect(rules, call, Action::List) == Effect::Allow
    }

    pub(super) fn permission(rules: &Rules, call: &Call) -> Effect {
        match effect(rules, call, Action::Call) {
            _ if !offered(rules, call) => Effect::Hide,
            Effect::Deny if !listed(rules, call) => Effect::Hide,
            effect => effect,
        }
    }

    pub(super) fn price(rules: &Rules, call: &Call) -> u64 {
        rules
            .prices
            .iter()
            .find(|price| covers(&price.who, &price.what, call))
            .map_or(0, |price| price.price.0)
    }

    /// The counters of one quota that a call moves.
    pub(super) fn scopes(quota: &Quota, call: &Call) -> Vec<String> {
        let (caller, groups, server, tool) = call;
        match quota.per {
            Per::All => vec![String::new()],
            Per::Caller => vec![(*caller).to_owned()],
            Per::Tool => vec![format!("{server} {tool}")],
            Per::CallerAndTool => vec![format!("{caller} {server} {tool}")],
            Per::Group => {
                let named: Vec<String> = groups
                    .iter()
                    .filter(|group| quota.who.groups.is_empty() || any(&quota.who.groups, group))
                    .map(|group| (*group).to_owned())
                    .collect();
                if named.is_empty() { vec!["(none)".to_owned()] } else { named }
            }
        }
    }
}

/// What the oracle has counted: money and calls by quota and scope.
#[derive(Default)]
struct Counted(HashMap<(usize, String), (u64, u64)>);

impl Counted {
    fn stage_that_refuses(&self, rules: &Rules, call: &Call, price: u64) -> Option<Stage> {
        let over = |stage| {
            rules.quotas.iter().enumerate().any(|(place, quota)| {
                oracle::covers(&quota.who, &quota.what, call)
                    && oracle::scopes(quota, call).into_iter().any(|scope| {
                        let (money, calls) = self.0.get(&(place, scope)).copied().unwrap_or_default();
                        match stage {
                            Stage::Budget => {
                                price > 0
                                    && quota.budget_per_month.is_some_and(|limit| money + price > limit.0)
                            }
                            _ => quota.calls_per_day.is_some_and(|limit| calls + 1 > limit),
                        }
                    })
            })
        };
        [Stage::Budget, Stage::Rate].into_iter().find(|stage| over(*stage))
    }

    fn count(&mut self, rules: &Rules, call: &Call, charged: u64) {
        for (place, quota) in rules.quotas.iter().enumerate() {
            if oracle::covers(&quota.who, &quota.what, call) {
                for scope in oracle::scopes(quota, call) {
                    let counted = self.0.entry((place, scope)).or_default();
                    *counted = (counted.0 + charged, counted.1 + 1);
                }
            }
        }
    }
}

struct OnlyEvenAmounts;

impl ArgumentCheck for OnlyEvenAmounts {
    fn check(&self, arguments: Option<&[u8]>) -> Result<(), ArgumentProblem> {
        let amount = arguments
            .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(bytes).ok())
            .and_then(|value| value.get("amount")?.as_u64());
        let problem = || ArgumentProblem::said("/amount".into(), "must be an even number".into());
        amount.filter(|amount| amount % 2 == 0).map(|_| ()).ok_or_else(problem)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Property 4: a call runs exactly when every check says yes, and a refusal names the first one that did not.
    #[test]
    fn a_call_runs_only_if_every_check_passes(rules in rules(), calls in vec((call(), any::<bool>()), 1..30)) {
        let (policy, problems) = Policy::compile(&rules, 1);
        prop_assert_eq!(problems, []);
        let meters = Meters::default();
        let mut counted = Counted::default();
        for (call, succeeds) in calls {
            let (caller, groups, server, tool) = &call;
            let standing = standing(&policy, caller, groups);
            let price = oracle::price(&rules, &call);
            let request = Request::new(Subject::tool(server, tool), noon());
            let expected = match oracle::permission(&rules, &call) {
                Effect::Hide => Some(Stage::Visibility),
                effect => counted
                    .stage_that_refuses(&rules, &call, price)
                    .or((effect == Effect::Deny).then_some(Stage::Permission)),
            };
            match admit(&standing, &meters, &request, ()) {
                Ok(Admitted::Permitted(permitted)) => {
                    prop_assert_eq!(expected, None);
                    let outcome = if succeeds { Outcome::Succeeded } else { Outcome::Failed };
                    let charged = permitted.into_parts().1.settle(outcome).0;
                    prop_assert_eq!(charged, if succeeds { price } else { 0 });
                    counted.count(&rules, &call, charged);
                }
                Ok(Admitted::Waiting(_)) => prop_assert!(false, "nothing asks for approval"),
                Err(Denied::Unknown { .. }) => prop_assert_eq!(expected, Some(Stage::Visibility)),
                Err(Denied::Refused(refusal)) => prop_assert_eq!(expected, Some(refusal.stage)),
                Err(Denied::Arguments(_)) => prop_assert!(false, "nothing checks arguments"),
            }
        }
    }

    /// Property 6: lists hold exactly what is visible, what is not listed gives nothing away, and one class sees one list.
    #[test]
    fn lists_hold_exactly_what_is_visible(rules in rules(), callers in vec(call(), 1..12)) {
        let (policy, _) = Policy::compile(&rules, 1);
        let mut lists = HashMap::new();
        for (caller, groups, _, _) in callers {
            let standing = standing(&policy, caller, &groups);
            let mut list = Vec::new();
            for server in SERVERS {
                for tool in TOOLS {
                    let call = (caller, groups.clone(), server, tool);
                    let subject = Subject::tool(server, tool);
                    let visible = standing.is_visible(&subject, None);
                    prop_assert_eq!(visible, oracle::listed(&rules, &call));
                    list.push((server, tool, visible));
                    if !visible {
                        let denied = admit(&standing, &Meters::default(), &Request::new(subject, noon()), ()).err();
                        let gives_away = matches!(denied, Some(Denied::Refused(ref refusal)) if refusal.stage == Stage::Permission);
                        prop_assert!(!gives_away, "{:?}", denied);
                    }
                }
            }
            let same_class = lists.entry(standing.visibility_class()).or_insert_with(|| list.clone());
            prop_assert_eq!(same_class, &list);
        }
    }

    /// Property 10: every call has one outcome that can be recorded, and the records are enough to rebuild the counters.
    #[test]
    fn records_rebuild_the_counters(rules in rules(), calls in vec((call(), 0_u64..14), 1..30)) {
        let (policy, _) = Policy::compile(&rules, 1);
        let meters = Meters::default();
        let mut records = Vec::new();
        for (call, actual) in &calls {
            let (caller, groups, server, tool) = call;
            let request = Request::new(Subject::tool(server, tool), noon());
            if let Ok(Admitted::Permitted(permitted)) = admit(&standing(&policy, caller, groups), &meters, &request, ()) {
                let (reserved, terms) = (permitted.terms().price(), permitted.into_parts().1);
                let charged = terms.settle_at(Micros(*actual));
                prop_assert!(charged <= reserved);
                records.push((call, charged));
            }
        }
        let rebuilt = Meters::default();
        for ((caller, groups, server, tool), charged) in records {
            let past = PastUse { subject: Subject::tool(server, tool), at: noon(), uses: 1, charged };
            prop_assert!(rebuilt.replay(&standing(&policy, caller, groups), &past, noon()));
        }
        for ((caller, groups, server, tool), _) in &calls {
            let (standing, subject) = (standing(&policy, caller, groups), Subject::tool(server, tool));
            prop_assert_eq!(
                meters.remaining(&standing, &subject, noon()),
                rebuilt.remaining(&standing, &subject, noon())
            );
        }
    }

    /// Property 12: a call whose arguments do not fit never runs, and costs nothing.
    #[test]
    fn bad_arguments_never_run(amount in proptest::option::of(any::<u64>()), junk in "[a-z{}:\",0-9]{0,12}") {
        let arguments = amount.map_or(junk, |amount| format!("{{\"amount\":{amount}}}"));
        let quota = Quota { calls_per_day: Some(10), ..Quota::default() };
        let (policy, _) = Policy::compile(&Rules { quotas: vec![quota], ..Rules::default() }, 1);
        let standing = standing(&policy, "a", &[]);
        let meters = Meters::default();
        let request = Request {
            arguments: Some(arguments.as_bytes()),
            argument_check: Some(&OnlyEvenAmounts),
            ..Request::new(Subject::tool("s", "x"), noon())
        };
        let fits = OnlyEvenAmounts.check(request.arguments).is_ok();
        let admitted = admit(&standing, &meters, &request, ());
        prop_assert_eq!(admitted.is_ok(), fits);
        if let Err(denied) = admitted {
            prop_assert!(matches!(denied, Denied::Arguments(ref problem) if problem.path == "/amount"));
            prop_assert_eq!(meters.remaining(&standing, &request.subject, noon())[0].used, 0);
        }
    }
}
