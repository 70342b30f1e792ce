//! One request to any address, for what is not MCP: the keys of an issuer, a webhook, the interface of operators.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, LOCATION};
use http::{Method, StatusCode};
use tokio::time::timeout;

use crate::http::{BadEndpoint, Endpoint, HttpError, Request};

/// A request. Only its method is printed: the rest may be secret.
#[derive(Clone, Copy)]
pub struct Fetch<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Its address, with `http` or `https`. Redirects are not followed.
    pub url: &'a str,
    /// Its headers by name.
    pub headers: &'a BTreeMap<String, String>,
    /// Its body.
    pub body: &'a Bytes,
    /// How long all of it may take.
    pub patience: Duration,
    /// How long the answer may be, in bytes.
    pub limit: usize,
}

/// An answer with what its head says of it.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Its status.
    pub status: StatusCode,
    /// What its body is.
    pub content_type: Option<String>,
    /// Where it sends us.
    pub location: Option<String>,
    /// Its body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(String);

/// Sends a request and reads the whole answer, whatever its status.
pub async fn fetch(request: Fetch<'_>) -> Result<(StatusCode, Bytes), FetchError> {
    fetch_at(request, &[]).await.map(|fetched| (fetched.status, fetched.body))
}

/// The same at one of these addresses, whatever the name in the URL leads to. Without any, the name is looked up.
pub async fn fetch_at(request: Fetch<'_>, addresses: &[SocketAddr]) -> Result<Fetched, FetchError> {
    let endpoint = Endpoint::new(request.url, request.headers, request.patience)?.at(addresses);
    let exchange = async {
        let (method, headers) = (request.method.clone(), endpoint.headers());
        let reply =
            endpoint.send(&Request { method, headers: &headers, further: &[], body: request.body }).await?;
        let said = |name: &HeaderName| {
            reply.head.header(name).and_then(|value| value.to_str().ok().map(str::to_owned))
        };
        let (content_type, location) = (said(&CONTENT_TYPE), said(&LOCATION));
        let status = reply.head.status;
        Ok::<_, HttpError>(Fetched {
            status,
            content_type,
            location,
            body: reply.whole(request.limit).await?,
        })
    };
    match timeout(request.patience, exchange).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(FetchError(format!("there is no answer after {} s", request.patience.as_secs_f32()))),
    }
}

impl fmt::Debug for Fetch<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Fetch").field("method", self.method).finish_non_exhaustive()
    }
}

impl From<BadEndpoint> for FetchError {
    fn from(error: BadEndpoint) -> Self {
        FetchError(error.to_string())
    }
}

impl From<HttpError> for FetchError {
    fn from(error: HttpError) -> Self {
        FetchError(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;

    use super::*;

    /// A server that says `answer` to one request and closes: where it is, and what it was asked.
    async fn server(answer: &'static str) -> (SocketAddr, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(request[..length].to_vec()).unwrap()
        });
        (address, heard)
    }

    /// What becomes of a request to a URL at these addresses.
    async fn asked(url: &str, addresses: &[SocketAddr], limit: usize) -> Result<Fetched, FetchError> {
        let headers = BTreeMap::from([("x-key".to_owned(), "secret".to_owned())]);
        let request = Fetch {
            method: &Method::GET,
            url,
            headers: &headers,
            body: &Bytes::new(),
            patience: Duration::from_secs(10),
            limit,
        };
        assert!(!format!("{request:?}").contains("secret"));
        fetch_at(request, addresses).await
    }

    #[tokio::test]
    async fn a_request_is_sent_and_its_answer_read() {
        let (address, heard) = server("HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnone").await;
        let answer = asked(&format!("http://{address}/keys?all=1"), &[], 4).await.unwrap();
        assert_eq!((answer.status, answer.body), (StatusCode::NOT_FOUND, Bytes::from_static(b"none")));
        let request = heard.await.unwrap();
        assert!(request.starts_with("GET /keys?all=1 HTTP/1.1\r\n"), "{request}");
        assert!(request.to_lowercase().contains("x-key: secret\r\n"), "{request}");
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_refused() {
        let (address, _heard) = server("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcde").await;
        let answer = asked(&format!("http://{address}/"), &[], 4).await;
        assert!(answer.unwrap_err().to_string().contains('4'));
    }

    /// Who judged addresses relies on it that the name is not looked up again.
    #[tokio::test]
    async fn a_name_whose_addresses_are_given_is_not_looked_up() {
        let (address, heard) = server("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
        let answer = asked("http://nowhere.invalid:81/keys", &[address], 4).await.unwrap();
        assert_eq!(answer.status, StatusCode::OK);
        let request = heard.await.unwrap();
        assert!(request.to_lowercase().contains("\r\nhost: nowhere.invalid:81\r\n"), "{request}");
        // Nor where the name leads to somebody who would answer.
        let (known, _never) = server("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nname").await;
        let (given, _heard) = server("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\ngiven").await;
        let answer = asked(&format!("http://localhost:{}/", known.port()), &[given], 5).await.unwrap();
        assert_eq!(answer.body, "given");
    }
}
