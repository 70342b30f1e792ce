//! What is left of a caller's quotas, as headers of the answer.

#[cfg(test)]
mod tests;

use http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use toolgate_governance::{Measure, Micros, Remaining};
use toolgate_protocol::{ErrorReply, Object};

/// What the string of a structured header cannot hold as it is, with the sign that makes the rest unambiguous. Characters
/// beyond ASCII are always written so.
const OUTSIDE_A_STRING: &AsciiSet = &CONTROLS.add(b'"').add(b'\\').add(b'%');

/// What is left, as headers.
pub fn quota_headers(remaining: &[Remaining]) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    let mut put = |name: &'static str, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.push((HeaderName::from_static(name), value));
        }
    };
    let now = Timestamp::now();
    let seconds = |one: &Remaining| {
        one.resets_at.map(|at| at.as_second().saturating_sub(now.as_second()).max(0)).unwrap_or_default()
    };
    let rates: Vec<_> = remaining.iter().filter(|one| !one.measure.is_money()).collect();
    if !rates.is_empty() {
        let policy = rates.iter().map(|one| format!("{};q={}{}", name(one), one.limit, window(one.measure)));
        put("ratelimit-policy", policy.collect::<Vec<_>>().join(", "));
        let left = rates.iter().map(|one| format!("{};r={};t={}", name(one), one.remaining, seconds(one)));
        put("ratelimit", left.collect::<Vec<_>>().join(", "));
    }
    // Of several budgets the one that ends first is what a caller must know.
    let budgets = remaining.iter().filter(|one| one.measure == Measure::BudgetPerMonth);
    if let Some(budget) = budgets.min_by_key(|one| one.remaining) {
        put("x-budget-limit", Micros(budget.limit).to_string());
        put("x-budget-remaining", Micros(budget.remaining).to_string());
        put("x-budget-reset", seconds(budget).to_string());
    }
    headers
}

/// When to come back, where an error says it.
pub fn retry_after(reply: &ErrorReply) -> Option<(HeaderName, HeaderValue)> {
    let data = Object::parse(reply.data.as_ref()?.as_bytes()).ok()?;
    let seconds: u64 = std::str::from_utf8(data.get("retry_after")?).ok()?.parse().ok()?;
    Some((RETRY_AFTER, HeaderValue::from(seconds)))
}

fn name(one: &Remaining) -> String {
    format!("\"{}\"", utf8_percent_encode(&one.rule, OUTSIDE_A_STRING))
}

fn window(measure: Measure) -> &'static str {
    match measure {
        Measure::CallsPerDay => ";w=86400",
        Measure::CallsPerMinute | Measure::ReadsPerMinute => ";w=60",
        Measure::BudgetPerMonth | Measure::MaxPerCall | Measure::Concurrency => "",
    }
}
