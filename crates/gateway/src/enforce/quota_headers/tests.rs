//! What the headers say of quotas.

use super::*;

fn left(rule: &str, measure: Measure, limit: u64, remaining: u64) -> Remaining {
    Remaining { rule: rule.into(), measure, limit, used: limit - remaining, remaining, resets_at: None }
}

fn header<'a>(headers: &'a [(HeaderName, HeaderValue)], name: &str) -> &'a str {
    let (_, value) = headers.iter().find(|(each, _)| each == name).unwrap();
    value.to_str().unwrap()
}

#[test]
fn the_budget_that_ends_first_is_shown() {
    let headers = quota_headers(&[
        left("all", Measure::BudgetPerMonth, 500_000_000, 100_000_000),
        left("own", Measure::BudgetPerMonth, 5_000_000, 250_000),
        left("team", Measure::BudgetPerMonth, 50_000_000, 9_000_000),
    ]);
    assert_eq!(header(&headers, "x-budget-limit"), "5");
    assert_eq!(header(&headers, "x-budget-remaining"), "0.25");
}

#[test]
fn a_name_that_is_no_string_of_a_header_loses_no_header() {
    let headers = quota_headers(&[
        left("für \"alle\" 5 %", Measure::CallsPerMinute, 60, 59),
        left("pace", Measure::CallsPerDay, 5000, 4999),
    ]);
    assert_eq!(
        header(&headers, "ratelimit-policy"),
        r#""f%C3%BCr %22alle%22 5 %25";q=60;w=60, "pace";q=5000;w=86400"#
    );
    assert_eq!(header(&headers, "ratelimit"), r#""f%C3%BCr %22alle%22 5 %25";r=59;t=0, "pace";r=4999;t=0"#);
}
