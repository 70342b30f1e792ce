//! What may be asked: the parameters of each operation, and the body of the one that has a body.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};
use schemars::JsonSchema;
use serde::de::value::{Error as ValueError, MapDeserializer};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use toolgate_ledger::store::GroupBy;
use toolgate_ledger::{CivilDay, Kind, Status};

use crate::problem::Problem;

/// More parameters than any operation has.
const MOST_PARAMETERS: usize = 32;

/// Which sums are asked for.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StatisticsQuery {
    /// One row for each of these.
    pub by: By,
    /// Only calls of this caller.
    #[serde(deserialize_with = "parsed")]
    pub caller: Option<String>,
    /// Only calls to this server.
    #[serde(deserialize_with = "parsed")]
    pub server: Option<String>,
    /// Only calls of this tool, as clients name it.
    #[serde(deserialize_with = "parsed")]
    pub tool: Option<String>,
    /// Only calls that ended so.
    #[serde(deserialize_with = "parsed")]
    #[schemars(with = "Option<String>", extend("enum" = words(Status::ALL, Status::as_str)))]
    pub status: Option<Status>,
    /// The first day, as `2026-07-28`. Without it, the first of this month.
    #[serde(deserialize_with = "parsed")]
    #[schemars(with = "Option<String>")]
    pub from: Option<Day>,
    /// The last day. Without it, today.
    #[serde(deserialize_with = "parsed")]
    #[schemars(with = "Option<String>")]
    pub to: Option<Day>,
}

/// What statistics are grouped by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The caller.
    #[default]
    Caller,
    /// The tool, resource or prompt.
    Tool,
    /// The server.
    Server,
    /// How the calls ended.
    Status,
    /// The day.
    Day,
    /// The month.
    Month,
}

/// Which calls are asked for, newest first.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LedgerQuery {
    /// Only calls of this caller.
    #[serde(deserialize_with = "parsed")]
    pub caller: Option<String>,
    /// Only calls to this server.
    #[serde(deserialize_with = "parsed")]
    pub server: Option<String>,
    /// Only calls of this tool, resource or prompt, as clients name it.
    #[serde(deserialize_with = "parsed")]
    pub tool: Option<String>,
    /// Only this kind.
    #[serde(deserialize_with = "parsed")]
    #[schemars(with = "Option<String>", extend("enum" = words(Kind::ALL, Kind::as_str)))]
    pub kind: Option<Kind>,
    /// Only calls that ended so.
    #[serde(deserialize_with = "parsed")]
    #[schemars(with = "Option<String>", extend("enum" = words(Status::ALL, Status::as_str)))]
    pub status: Option<Status>,
    /// Not before this moment: RFC 3339, or a day in UTC.
    #[serde(deserialize_with = "parsed")]
    #[schemars(with = "Option<String>")]
    pub from: Option<Moment>,
    /// Before this moment.
    #[serde(deserialize_with = "parsed")]
    #[schemars(with = "Option<String>")]
    pub until: Option<Moment>,
    /// `next` of the page before.
    #[serde(deserialize_with = "parsed")]
    pub cursor: Option<String>,
    /// How many calls a page has: 100 unless told, at most 1000.
    #[serde(deserialize_with = "parsed")]
    pub limit: Option<u32>,
}

/// Whose limits are asked for.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotasQuery {
    /// The caller.
    pub caller: String,
    /// Its groups, separated by commas. Without it, those that the configuration and the API keys give it.
    #[serde(default, deserialize_with = "parsed")]
    pub groups: Option<String>,
    /// Only the limits that count this tool.
    #[serde(default, deserialize_with = "parsed")]
    pub tool: Option<String>,
}

/// Which call is explained. One of `tool`, `resource` and `prompt` is needed.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainQuery {
    /// The caller.
    pub caller: String,
    /// Its groups, separated by commas. Without it, those that the configuration and the API keys give it.
    #[serde(default, deserialize_with = "parsed")]
    pub groups: Option<String>,
    /// The tool, as clients name it.
    #[serde(default, deserialize_with = "parsed")]
    pub tool: Option<String>,
    /// The address of the resource.
    #[serde(default, deserialize_with = "parsed")]
    pub resource: Option<String>,
    /// The prompt, as clients name it.
    #[serde(default, deserialize_with = "parsed")]
    pub prompt: Option<String>,
    /// The arguments, as JSON text.
    #[serde(default, deserialize_with = "parsed")]
    pub arguments: Option<String>,
    /// What the request itself leaves out, as in the header `X-Toolgate-Tools`.
    #[serde(default, deserialize_with = "parsed")]
    pub narrow: Option<String>,
}

/// An operation without parameters.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoQuery {}

/// What is decided about a call that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Whether the call may run.
    pub approve: bool,
    /// What the caller is told where it may not.
    #[serde(default)]
    pub reason: Option<String>,
}

/// A day, written `2026-07-28`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day(pub Date);

/// A moment, written as RFC 3339 has it, or as a day, which stands for its beginning in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(pub Timestamp);

/// Reads the parameters of an address.
pub fn read<T: DeserializeOwned>(query: Option<&str>) -> Result<T, Problem> {
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).take(MOST_PARAMETERS);
    let parameters = MapDeserializer::<_, ValueError>::new(pairs);
    T::deserialize(parameters)
        .map_err(|error| Problem::invalid(format!("the parameters cannot be used: {error}")))
}

impl By {
    /// The same for the ledger.
    pub fn group(self) -> GroupBy {
        match self {
            By::Caller => GroupBy::Caller,
            By::Tool => GroupBy::Tool,
            By::Server => GroupBy::Server,
            By::Status => GroupBy::Status,
            By::Day => GroupBy::Day,
            By::Month => GroupBy::Month,
        }
    }
}

impl Day {
    /// The same for the ledger.
    pub fn civil(self) -> CivilDay {
        let date = self.0;
        CivilDay::new(i32::from(date.year()), date.month().unsigned_abs(), date.day().unsigned_abs())
    }
}

impl FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Day, String> {
        text.parse().map(Day).map_err(|_| format!("'{text}' is no day; write it like 2026-07-28"))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Moment, String> {
        if let Ok(moment) = text.parse() {
            return Ok(Moment(moment));
        }
        let begin = text.parse::<Date>().and_then(|day| day.to_zoned(TimeZone::UTC));
        begin
            .map(|begin| Moment(begin.timestamp()))
            .map_err(|_| format!("'{text}' is no moment; write it like 2026-07-28T09:30:00Z or 2026-07-28"))
    }
}

/// What a parameter may be, for the description.
fn words<T: Copy>(values: &[T], word: impl Fn(T) -> &'static str) -> Vec<&'static str> {
    values.iter().map(|value| word(*value)).collect()
}

/// A value from the text of a parameter.
fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(|error| D::Error::custom(format!("'{text}': {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_or_refused() {
        let check = |query: &str, expected: Option<LedgerQuery>| {
            assert_eq!(read(Some(query)).ok(), expected, "{query}");
        };
        check("", Some(LedgerQuery::default()));
        check(
            "caller=a%20b&status=denied&limit=5",
            Some(LedgerQuery {
                caller: Some("a b".into()),
                status: Some(Status::Denied),
                limit: Some(5),
                ..LedgerQuery::default()
            }),
        );
        check(
            "from=2026-07-28",
            Some(LedgerQuery { from: Some(moment("2026-07-28T00:00:00Z")), ..LedgerQuery::default() }),
        );
        check("status=good", None);
        check("limit=-1", None);
        check("from=yesterday", None);
        check("colour=red", None);
        check("caller=a&caller=b", None);
    }

    #[test]
    fn days_and_groups_are_read() {
        let query: StatisticsQuery = read(Some("by=server&from=2026-02-01&to=2026-02-28")).unwrap();
        assert_eq!(query.by, By::Server);
        assert_eq!(query.to.unwrap().civil(), CivilDay(20260228));
        assert!(read::<StatisticsQuery>(Some("from=2026-02-30")).is_err());
        assert!(read::<QuotasQuery>(None).unwrap_err().message.contains("caller"));
    }

    fn moment(text: &str) -> Moment {
        text.parse().unwrap()
    }
}
