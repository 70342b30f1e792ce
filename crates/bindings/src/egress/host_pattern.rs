//! The hosts of a rule: `api.example.com`, `*.example.com`, `localhost:8080`, `10.0.0.7:*`, `[::1]:3000`.
//!
//! A star stands for whole labels at the beginning of a name, so that `*.example.com` cannot fit `evil-example.com`.

use std::net::Ipv6Addr;

use url::{Host, Url};

/// A host, or all hosts below a domain, and their port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    name: Name,
    port: Port,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Any,
    Below(String),
    Exactly(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    /// 80 for http, 443 for https.
    Usual,
    Any,
    Exactly(u16),
}

/// Why a text names no hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' names no host; write HOST, *.DOMAIN or HOST:PORT, where PORT may be *")]
pub struct BadHostPattern(String);

impl HostPattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<HostPattern, BadHostPattern> {
        let bad = || BadHostPattern(text.to_owned());
        let (name, port) = match text.rsplit_once(':') {
            // The colons of a bare version 6 address are no ports.
            Some((name, port)) if !port.ends_with(']') && text.parse::<Ipv6Addr>().is_err() => {
                let port = match port {
                    "*" => Port::Any,
                    number => Port::Exactly(number.parse().map_err(|_| bad())?),
                };
                (name, port)
            }
            _ => (text, Port::Usual),
        };
        let name = match name.strip_prefix("*.") {
            _ if name == "*" => Name::Any,
            Some(domain) => Name::Below(canonical(domain).ok_or_else(bad)?),
            None => Name::Exactly(canonical(name).ok_or_else(bad)?),
        };
        Ok(HostPattern { name, port })
    }

    /// Whether the host and the port of an address fit.
    pub fn fits_url(&self, url: &Url) -> bool {
        let usual_port = if url.scheme() == "http" { 80 } else { 443 };
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        self.fits(host, url.port().unwrap_or(usual_port), usual_port)
    }

    /// Whether a host, as a parsed address has it, and its port fit.
    pub fn fits(&self, host: &str, port: u16, usual_port: u16) -> bool {
        let port_fits = match self.port {
            Port::Any => true,
            Port::Usual => port == usual_port,
            Port::Exactly(number) => port == number,
        };
        port_fits
            && match &self.name {
                Name::Any => true,
                Name::Exactly(name) => host == name,
                Name::Below(domain) => host
                    .strip_suffix(domain.as_str())
                    .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            }
    }
}

/// A host as a parsed address writes it: in lower case, numbers as addresses, without a dot at the end.
fn canonical(name: &str) -> Option<String> {
    let name = name.trim_end_matches('.');
    if let Ok(address) = name.parse::<Ipv6Addr>() {
        return Some(format!("[{address}]"));
    }
    if name.contains('*') {
        return None;
    }
    Host::parse(name).ok().map(|host| host.to_string())
}
