//! HTTP/1.1 to one server: its address, the headers that every request has, and its idle connections.
//!
//! Connections are not driven by tasks of their own. Whoever uses one polls it, so a call costs no hand-over between
//! tasks, and a connection that nobody uses costs nothing but its socket.

mod body;
pub(crate) mod event_stream;
mod exchange;
mod head;
mod pool;
mod tls;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::{Method, Uri};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

pub(crate) use exchange::Reply;
use exchange::{Exchange, Unanswered};
use pool::Pool;
use tls::Stream;

/// Where a server is and how it is spoken to.
pub(crate) struct Endpoint {
    url: Url,
    host: String,
    port: u16,
    target: Uri,
    headers: HeaderMap,
    /// Where to connect; the host's name is looked up where there are none.
    addresses: Vec<SocketAddr>,
    tls: Option<tls::Client>,
    pool: Pool,
    connect_timeout: Duration,
}

/// What is sent.
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    pub(crate) headers: &'a HeaderMap,
    /// Headers that only this request has.
    pub(crate) further: &'a [(HeaderName, HeaderValue)],
    pub(crate) body: &'a [u8],
}

/// Why an address cannot be used. The address itself is not repeated, since it may hold a key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadEndpoint {
    #[error("the address is not a URL: {0}")]
    NotAUrl(url::ParseError),
    #[error("the address must begin with http:// or https:// and name a host")]
    NoHttpHost,
    #[error("the header '{0}' or its value may not stand in a request")]
    BadHeader(String),
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

/// Why an exchange failed.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// No byte of the request was sent.
    #[error("{0}")]
    Unreachable(String),
    /// It broke after it had begun: whether the request was read is not known.
    #[error("{0}")]
    Broken(String),
    /// More came than may come.
    #[error("the answer is longer than the allowed {0} bytes")]
    TooLong(usize),
}

impl Endpoint {
    /// The endpoint at `url`; every request gets `headers`.
    pub(crate) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        connect_timeout: Duration,
    ) -> Result<Endpoint, BadEndpoint> {
        Endpoint::over(url, headers, connect_timeout, tls::Client::new)
    }

    /// The same with another way to set TLS up for a host.
    fn over(
        url: &str,
        headers: &BTreeMap<String, String>,
        connect_timeout: Duration,
        tls: impl FnOnce(&str) -> Result<tls::Client, String>,
    ) -> Result<Endpoint, BadEndpoint> {
        let parsed = Url::parse(url).map_err(BadEndpoint::NotAUrl)?;
        let no_host = || BadEndpoint::NoHttpHost;
        let host = parsed.host_str().ok_or_else(no_host)?.to_owned();
        let port = parsed.port_or_known_default().ok_or_else(no_host)?;
        let tls = match parsed.scheme() {
            "http" => None,
            "https" => Some(tls(&host).map_err(BadEndpoint::Tls)?),
            _ => return Err(no_host()),
        };
        let target = target_of(&parsed).ok_or_else(no_host)?;
        let authority = parsed.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
        let headers = headers_of(headers, &authority)?;
        let (addresses, pool) = (Vec::new(), Pool::default());
        Ok(Endpoint { url: parsed, host, port, target, headers, addresses, tls, pool, connect_timeout })
    }

    /// The same, connected to one of these addresses whatever the host's name leads to.
    pub(crate) fn at(mut self, addresses: &[SocketAddr]) -> Endpoint {
        self.addresses = addresses.to_vec();
        self
    }

    /// The headers of every request, to add to. The length of the body is told without them.
    pub(crate) fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    /// The path of another address at this endpoint's origin; nothing if it lies elsewhere.
    pub(crate) fn same_origin(&self, reference: &str) -> Option<Uri> {
        let url = self.url.join(reference).ok()?;
        if url.origin() != self.url.origin() {
            return None;
        }
        target_of(&url)
    }

    /// Sends a request to the endpoint itself and waits for the head of the answer.
    pub(crate) async fn send(&self, request: &Request<'_>) -> Result<Reply<'_>, HttpError> {
        self.send_to(&self.target, request).await
    }

    /// The same to another path of this origin. An idle connection that turns out to be closed before anything was
    /// written is replaced by a fresh one, once.
    pub(crate) async fn send_to(&self, target: &Uri, request: &Request<'_>) -> Result<Reply<'_>, HttpError> {
        let write = |into: &mut Vec<u8>| head::write(into, target, request);
        if let Some(mut exchange) = self.pool.take().await {
            match exchange.send(write, request.body).await {
                Ok(head) => return Ok(Reply::new(&self.pool, exchange, head)),
                Err(Unanswered::NotSent(_)) => {}
                Err(Unanswered::Broken(cause)) => return Err(HttpError::Broken(cause)),
            }
        }
        // Boxed: it is rare, and would make every call's future larger.
        let mut exchange = Box::pin(self.connect()).await?;
        match exchange.send(write, request.body).await {
            Ok(head) => Ok(Reply::new(&self.pool, exchange, head)),
            Err(Unanswered::NotSent(cause)) => {
                Err(HttpError::Unreachable(format!("{} closed the new connection: {cause}", self.place())))
            }
            Err(Unanswered::Broken(cause)) => Err(HttpError::Broken(cause)),
        }
    }

    /// Closes idle connections that have not been used for long.
    pub(crate) fn prune(&self) {
        self.pool.prune();
    }

    async fn connect(&self) -> Result<Box<Exchange>, HttpError> {
        let unreachable =
            |cause: String| HttpError::Unreachable(format!("cannot connect to {}: {cause}", self.place()));
        match timeout(self.connect_timeout, self.open()).await {
            Ok(Ok(stream)) => Ok(Exchange::begin(stream)),
            Ok(Err(error)) => Err(unreachable(error.to_string())),
            Err(_) => {
                Err(unreachable(format!("no connection within {} s", self.connect_timeout.as_secs_f32())))
            }
        }
    }

    async fn open(&self) -> std::io::Result<Stream> {
        let tcp = if self.addresses.is_empty() {
            let host = self.host.trim_start_matches('[').trim_end_matches(']');
            TcpStream::connect((host, self.port)).await?
        } else {
            TcpStream::connect(&*self.addresses).await?
        };
        tcp.set_nodelay(true)?;
        match &self.tls {
            None => Ok(Stream::Plain(tcp)),
            Some(tls) => tls.wrap(tcp).await,
        }
    }

    fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Endpoint").field("place", &self.place()).finish_non_exhaustive()
    }
}

fn target_of(url: &Url) -> Option<Uri> {
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    Uri::try_from(target).ok()
}

fn headers_of(configured: &BTreeMap<String, String>, authority: &str) -> Result<HeaderMap, BadEndpoint> {
    let mut headers = HeaderMap::with_capacity(configured.len() + 8);
    let bad = |name: &str| BadEndpoint::BadHeader(name.to_owned());
    headers.insert(HOST, HeaderValue::try_from(authority).map_err(|_| bad("host"))?);
    for (name, value) in configured {
        let key = HeaderName::try_from(name.as_str()).map_err(|_| bad(name))?;
        if matches!(key, CONTENT_LENGTH | TRANSFER_ENCODING | CONNECTION) {
            return Err(bad(name));
        }
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| bad(name))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_be_used_is_not_repeated() {
        let check = |url: &str, expected: &str| {
            let error = Endpoint::new(url, &BTreeMap::new(), Duration::ZERO).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("hidden"), "{url}: {error}");
        };
        check("https://h:99999/?key=hidden", "invalid port number");
        check("https://hidden:hidden@/", "not a URL");
        check("hidden://h/", "http:// or https://");
    }
}
