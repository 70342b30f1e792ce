//! Which of a server's tools there are for the agent, under which prefix, and how long each may take.

use std::time::Duration;

use toolgate_config::ServerConfig;

/// What a record says of the tools of its server. By default all of them are offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Patterns of the tools that are offered; all are where nothing is said.
    allowed: Option<Vec<String>>,
    /// Patterns of the tools that are not, whatever else is said.
    denied: Vec<String>,
    /// Call timeouts of single tools, the longest pattern first: the first that fits counts.
    timeouts: Vec<(String, Duration)>,
    /// What stands before the names of its tools in place of its own name.
    namespace: Option<String>,
}

impl Offer {
    /// What this record offers.
    pub fn of(record: &ServerConfig) -> Offer {
        let mut timeouts: Vec<_> =
            record.tool_timeouts.iter().map(|(pattern, time)| (pattern.clone(), *time)).collect();
        timeouts.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
        Offer {
            allowed: record.allowed_tools.clone(),
            denied: record.denied_tools.clone(),
            timeouts,
            namespace: record.tool_namespace.clone().filter(|namespace| !namespace.is_empty()),
        }
    }

    /// Whether this tool is offered.
    pub fn has(&self, tool: &str) -> bool {
        let one_fits = |patterns: &Vec<String>| patterns.iter().any(|pattern| fits(pattern, tool));
        self.allowed.as_ref().is_none_or(one_fits) && !one_fits(&self.denied)
    }

    /// How long a call of this tool may take, where it is not the server's usual time.
    pub fn timeout(&self, tool: &str) -> Option<Duration> {
        self.timeouts.iter().find(|(pattern, _)| fits(pattern, tool)).map(|(_, time)| *time)
    }

    /// What stands before the names of the tools of this server.
    pub fn prefix<'a>(&'a self, server: &'a str) -> &'a str {
        self.namespace.as_deref().unwrap_or(server)
    }
}

/// Whether a name fits a pattern: `*` stands for any run of characters, `?` for one. At a dead end the last star swallows
/// one character more, so it takes at most pattern length times name length steps.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut here) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while let Some(letter) = name.get(here) {
        match (pattern.get(at), last_star) {
            (Some('*'), _) => {
                last_star = Some((at + 1, here));
                at += 1;
            }
            (Some(wanted), _) if *wanted == '?' || wanted == letter => {
                at += 1;
                here += 1;
            }
            (_, Some((after_star, swallowed))) => {
                last_star = Some((after_star, swallowed + 1));
                (at, here) = (after_star, swallowed + 1);
            }
            (_, None) => return false,
        }
    }
    pattern.iter().skip(at).all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns_as_people_expect() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "anything", true),
            ("echo", "echo", true),
            ("echo", "echos", false),
            ("read_*", "read_file", true),
            ("read_*", "reread_file", false),
            ("*_file", "read_file", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("get_?", "get_x", true),
            ("get_?", "get_", false),
            ("a*b*c", "abcbc", true),
            ("a*b*c", "abcb", false),
            ("", "x", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn what_is_denied_is_not_offered_and_the_longest_pattern_has_the_time() {
        let seconds = Duration::from_secs;
        let record = ServerConfig {
            allowed_tools: Some(vec!["read_*".to_owned()]),
            denied_tools: vec!["*_secret".to_owned()],
            tool_timeouts: [("*".to_owned(), seconds(1)), ("read_*".to_owned(), seconds(2))].into(),
            ..ServerConfig::default()
        };
        let offer = Offer::of(&record);
        let check = |tool: &str, expected| assert_eq!(offer.has(tool), expected, "{tool}");
        check("read_file", true);
        check("write_file", false);
        check("read_secret", false);
        assert_eq!(offer.timeout("read_file"), Some(seconds(2)));
        assert_eq!(offer.timeout("write_file"), Some(seconds(1)));
        assert!(Offer::default().has("anything"));
    }
}
