//! Where requests may go: hosts that the operator names, and no addresses of the operator's own network.
//!
//! A name is looked up once, every address it leads to is judged, and the connection is made to an address that was
//! judged good. A second look-up could answer differently; that is how such checks are commonly fooled.

pub mod address;
mod host_pattern;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, SocketAddr};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::net::lookup_host;
use url::{Host, Url};

pub use host_pattern::{BadHostPattern, HostPattern};

/// How many addresses of one name are tried.
const MOST_ADDRESSES: usize = 16;
/// How many redirects may be followed at most.
pub const MOST_REDIRECTS: u8 = 3;

/// What is allowed. By default nothing is.
#[derive(Clone, Debug)]
pub struct Egress {
    /// Hosts that may be asked, at public addresses.
    pub allow: Vec<HostPattern>,
    /// Hosts that may be asked wherever they are: in the operator's network, or on this machine.
    pub private: Vec<HostPattern>,
    /// How many redirects are followed, each checked like a request; at most [`MOST_REDIRECTS`].
    pub redirects: u8,
    /// How long an answer may be, in bytes.
    pub max_answer_bytes: usize,
}

/// Why a request may not be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It is no address of HTTP.
    #[error("only http:// and https:// addresses with a host can be asked")]
    NoHttp,
    /// The operator did not name the host.
    #[error("requests to {0} are not allowed; the operator can name it under egress.allow")]
    Host(String),
    /// The host is in a private network, or where machines keep their secrets.
    #[error("{0} is at an address that is not public; the operator can name it under egress.private")]
    Private(String),
    /// The name leads nowhere.
    #[error("{host} cannot be found: {cause}")]
    Unknown {
        /// The host.
        host: String,
        /// Why.
        cause: String,
    },
}

/// What the rules say of a host before its name is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It may be asked at public addresses.
    Public,
    /// It may be asked at any address.
    Anywhere,
}

/// The addresses of a name, once they are found.
pub type Found = BoxFuture<'static, io::Result<Vec<SocketAddr>>>;

impl Default for Egress {
    fn default() -> Egress {
        Egress { allow: Vec::new(), private: Vec::new(), redirects: 0, max_answer_bytes: 4 * 1024 * 1024 }
    }
}

impl Egress {
    /// Whether nothing at all is allowed.
    pub fn is_closed(&self) -> bool {
        self.allow.is_empty() && self.private.is_empty()
    }

    /// What the rules say of the host of an address.
    pub fn reach(&self, url: &Url) -> Result<Reach, Denied> {
        let usual_port = match url.scheme() {
            "http" => 80,
            "https" => 443,
            _ => return Err(Denied::NoHttp),
        };
        let host = url.host_str().ok_or(Denied::NoHttp)?.trim_end_matches('.');
        let port = url.port().unwrap_or(usual_port);
        let fits =
            |patterns: &[HostPattern]| patterns.iter().any(|pattern| pattern.fits(host, port, usual_port));
        if fits(&self.private) {
            Ok(Reach::Anywhere)
        } else if fits(&self.allow) {
            Ok(Reach::Public)
        } else {
            Err(Denied::Host(place(host, port, usual_port)))
        }
    }

    /// Those of a host's addresses that may be connected to.
    pub fn choose(
        &self,
        url: &Url,
        addresses: impl IntoIterator<Item = SocketAddr>,
    ) -> Result<Vec<SocketAddr>, Denied> {
        let reach = self.reach(url)?;
        let is_good = |found: &SocketAddr| reach == Reach::Anywhere || address::is_public(found.ip());
        let good: Vec<SocketAddr> = addresses.into_iter().filter(is_good).take(MOST_ADDRESSES).collect();
        if good.is_empty() {
            return Err(Denied::Private(url.host_str().unwrap_or_default().to_owned()));
        }
        Ok(good)
    }

    /// Looks a host up, by [`look_up`] or another way, where the rules allow to ask it, and gives the addresses that may
    /// be connected to.
    pub async fn addresses(
        &self,
        url: &Url,
        look_up: impl Fn(&str, u16) -> Found,
    ) -> Result<Vec<SocketAddr>, Denied> {
        self.reach(url)?;
        let port = url.port_or_known_default().ok_or(Denied::NoHttp)?;
        match url.host().ok_or(Denied::NoHttp)? {
            Host::Ipv4(ip) => self.choose(url, [SocketAddr::new(IpAddr::V4(ip), port)]),
            Host::Ipv6(ip) => self.choose(url, [SocketAddr::new(IpAddr::V6(ip), port)]),
            Host::Domain(name) => {
                let unknown = |cause: String| Denied::Unknown { host: name.to_owned(), cause };
                let found = look_up(name, port).await.map_err(|error| unknown(error.to_string()))?;
                if found.is_empty() {
                    return Err(unknown("the name has no address".to_owned()));
                }
                self.choose(url, found)
            }
        }
    }
}

/// Looks a name up as this machine does.
pub fn look_up(name: &str, port: u16) -> Found {
    let name = name.to_owned();
    async move { Ok(lookup_host((name, port)).await?.collect()) }.boxed()
}

fn place(host: &str, port: u16, usual_port: u16) -> String {
    if port == usual_port { host.to_owned() } else { format!("{host}:{port}") }
}
