use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderName, Method, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::http::{Endpoint, HttpError, Request};

const PATIENCE: Duration = Duration::from_secs(20);
const HEARD: HeaderName = HeaderName::from_static("x-host");

/// A server with the certificate for tests, which sends every body back and says which host was asked for.
struct Server {
    address: SocketAddr,
    /// How many connections came.
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

fn certificate(name: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(path(name)).unwrap()
}

fn path(name: &str) -> String {
    format!("{}/../../tests/certificates/{name}", env!("CARGO_MANIFEST_DIR"))
}

async fn server() -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let key = PrivateKeyDer::from_pem_file(path("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate("server.pem")], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut served = JoinSet::new();
        while let Ok((tcp, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            let acceptor = acceptor.clone();
            served.spawn(async move {
                // Who does not trust the certificate goes away.
                let Ok(stream) = acceptor.accept(tcp).await else { return };
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(echo)).await;
            });
        }
    });
    Server { address, connections, _tasks: tasks }
}

async fn echo(request: http::Request<Incoming>) -> Result<http::Response<Full<Bytes>>, Infallible> {
    let host = request.headers()[HOST].clone();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let mut response = http::Response::new(Full::new(body));
    response.headers_mut().insert(HEARD, host);
    Ok(response)
}

/// An endpoint that believes only this authority; none of the machine's own.
fn endpoint(url: &str, authority: &str, addresses: &[SocketAddr]) -> Endpoint {
    let mut roots = RootCertStore::empty();
    roots.add(certificate(authority)).unwrap();
    let config = trusting(roots).unwrap();
    let endpoint = Endpoint::over(url, &BTreeMap::new(), PATIENCE, |host| Client::with(config, host));
    endpoint.unwrap().at(addresses)
}

/// Posts a body: the host that the server heard, and the body of its answer.
async fn post(endpoint: &Endpoint, body: &[u8]) -> Result<(String, Bytes), HttpError> {
    let headers = endpoint.headers();
    let request = Request { method: Method::POST, headers: &headers, further: &[], body };
    let reply = endpoint.send(&request).await?;
    assert_eq!(reply.head.status, StatusCode::OK);
    let host = reply.head.header(&HEARD).unwrap().to_str().unwrap().to_owned();
    Ok((host, reply.whole(1 << 20).await?))
}

#[tokio::test]
async fn a_host_with_a_certificate_for_its_name_is_spoken_to() {
    let server = server().await;
    let check = async |host: &str, addresses: &[SocketAddr]| {
        let authority = format!("{host}:{}", server.address.port());
        let endpoint = endpoint(&format!("https://{authority}/echo"), "ca.pem", addresses);
        let before = server.connections.load(Ordering::Relaxed);
        // Bodies of one record of TLS and of many; the connection is kept from one to the next.
        for length in [2, 20_000, 500_000] {
            let body: Vec<u8> = (0..length).map(|at: u32| at.to_le_bytes()[0]).collect();
            let (heard, answer) = post(&endpoint, &body).await.unwrap();
            assert_eq!(heard, authority);
            assert!(answer == body, "{length} bytes came back as others");
        }
        assert_eq!(server.connections.load(Ordering::Relaxed), before + 1, "{host}");
    };
    check("localhost", &[server.address]).await;
    check("localhost.", &[server.address]).await;
    check("127.0.0.1", &[]).await;
}

#[tokio::test]
async fn a_host_that_cannot_prove_its_name_is_told_nothing() {
    let server = server().await;
    let check = async |host: &str, authority: &str, expected: &str| {
        let url = format!("https://{host}:{}/echo?key=hidden", server.address.port());
        let error = post(&endpoint(&url, authority, &[server.address]), b"hidden").await.unwrap_err();
        let HttpError::Unreachable(words) = error else { panic!("{error}: something was sent") };
        assert!(words.starts_with(&format!("cannot connect to {host}:")), "{words}");
        assert!(words.contains(expected) && !words.contains("hidden"), "{words}");
    };
    check("localhost", "server.pem", "no authority that this machine trusts").await;
    check("shop.invalid", "ca.pem", "not valid for name").await;
    check("127.0.0.2", "ca.pem", "not valid for name").await;
}

#[tokio::test]
async fn a_server_without_tls_is_told_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let plain = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = vec![0; 4096];
        let length = tokio::io::AsyncReadExt::read(&mut stream, &mut hello).await.unwrap();
        let answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await.unwrap();
        hello.truncate(length);
        hello
    });
    let url = format!("https://localhost:{}/?key=hidden", address.port());
    let error = post(&endpoint(&url, "ca.pem", &[address]), b"hidden").await.unwrap_err();
    assert!(matches!(error, HttpError::Unreachable(_)), "{error}");
    let heard = plain.await.unwrap();
    assert!(!heard.windows(6).any(|part| part == b"hidden"));
}
