//! `Host` and `Origin`: a page in a browser must not reach a gateway on the same machine (DNS rebinding).

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};

use crate::downstream::headers::Headers;

/// Which hosts and origins are let in.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    /// Whether only names of this machine are right in `Host`. So it is while we listen on loopback only.
    pub loopback_only: bool,
    /// Further values of `Host`, with or without a port.
    pub hosts: Vec<String>,
    /// Origins of pages that may call us, as `https://host[:port]`, or `*`.
    pub origins: Vec<String>,
}

/// Why a request is not let in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    #[error("'Host: {0}' is not a name of this gateway; add it to listen.allowed_hosts if it should be")]
    Host(String),
    #[error("'Origin: {0}' may not call this gateway; add it to listen.allowed_origins if it should")]
    Origin(String),
}

impl Origins {
    /// Lets a request in or says why not.
    pub fn check(&self, headers: Headers<'_>) -> Result<(), Foreign> {
        // By far the most requests, and nothing in them needs a closer look.
        if !headers.has(&ORIGIN) && headers.get(&HOST).is_some_and(is_this_machine) {
            return Ok(());
        }
        let text = |name| headers.get(&name).map(String::from_utf8_lossy);
        if let Some(host) = text(HOST)
            && self.loopback_only
            && !is_loopback(host_of(&host))
            && !self.lists_host(&host)
        {
            return Err(Foreign::Host(host.into_owned()));
        }
        if let Some(origin) = text(ORIGIN)
            && !self.allows_origin(&origin)
            && !text(HOST).is_some_and(|host| !self.loopback_only && same_host(&origin, &host))
        {
            return Err(Foreign::Origin(origin.into_owned()));
        }
        Ok(())
    }

    /// Whether a page of this origin may read our answers.
    pub fn allows_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin))
            || origin.split_once("://").is_some_and(|(scheme, host)| {
                matches!(scheme, "http" | "https") && is_loopback(host_of(host))
            })
    }

    fn lists_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|allowed| {
            allowed == "*"
                || allowed.eq_ignore_ascii_case(host)
                || allowed.eq_ignore_ascii_case(host_of(host))
        })
    }
}

/// Whether a host is plainly this machine: its usual names with a port or without.
fn is_this_machine(host: &[u8]) -> bool {
    let rest = host.strip_prefix(b"127.0.0.1").or_else(|| host.strip_prefix(b"localhost"));
    rest.is_some_and(|rest| match rest {
        [] => true,
        [b':', port @ ..] => port.iter().all(u8::is_ascii_digit),
        _ => false,
    })
}

fn same_host(origin: &str, host: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, origin_host)| origin_host.eq_ignore_ascii_case(host))
}

/// The name without its port.
fn host_of(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').map_or(rest, |(address, _)| address);
    }
    host.split_once(':').map_or(host, |(name, _)| name)
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(origins: &Origins, host: &str, origin: Option<&str>) -> bool {
        let mut headers = http::HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        origins.check(Headers::from(&headers)).is_ok()
    }

    #[test]
    fn only_this_machine_by_default() {
        let origins = Origins { loopback_only: true, ..Origins::default() };
        for host in ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "127.1.2.3"] {
            assert!(check(&origins, host, None), "{host}");
            assert!(check(&origins, host, Some("http://localhost:6274")), "{host}");
        }
        for host in ["evil.example", "evil.example:8080", "localhost.evil.example", "10.0.0.1"] {
            assert!(!check(&origins, host, None), "{host}");
        }
        for origin in ["http://evil.example", "null", "http://localhost.evil.example", "file://localhost"] {
            assert!(!check(&origins, "localhost", Some(origin)), "{origin}");
        }
    }

    #[test]
    fn what_the_operator_lists_is_let_in() {
        let origins = Origins {
            loopback_only: true,
            hosts: vec!["gate.example".into()],
            origins: vec!["https://app.example".into()],
        };
        assert!(check(&origins, "gate.example:8443", Some("https://app.example")));
        assert!(!check(&origins, "gate.example", Some("https://app.example.evil.example")));
        let open = Origins { loopback_only: false, ..Origins::default() };
        assert!(check(&open, "gate.example", Some("https://gate.example")));
        assert!(!check(&open, "gate.example", Some("https://other.example")));
    }
}
