use std::collections::BTreeMap;
use std::future::ready;
use std::net::SocketAddr;
use std::sync::Mutex;

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;
use crate::egress::HostPattern;

/// A server that gives these answers in turn and remembers what it was asked.
struct Script {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
    _task: JoinHandle<()>,
}

async fn script(answers: Vec<String>) -> Script {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&heard);
    let task = tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            notes.lock().unwrap().push(String::from_utf8_lossy(&request[..length]).into_owned());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    Script { port, heard, _task: task }
}

fn reply(status: &str, more: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{more}content-length: 2\r\nconnection: close\r\n\r\nok")
}

fn courier(hosts: &[&str], redirects: u8) -> Courier {
    let private = hosts.iter().map(|host| HostPattern::parse(host).unwrap()).collect();
    Courier::new(Egress { private, redirects, ..Egress::default() })
}

fn request(method: Method, port: u16) -> Request {
    let headers = BTreeMap::from([("x-key".to_owned(), "secret".to_owned())]);
    Request { method, url: format!("http://127.0.0.1:{port}/a"), headers, body: Bytes::new() }
}

const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn what_may_be_repeated_is_repeated_and_nothing_else() {
    let check = async |retries: u32, answers: &[&str], expected: u16, asked: usize| {
        let script = script(answers.iter().map(|status| reply(status, "")).collect()).await;
        let sent =
            courier(&["127.0.0.1:*"], 0).send(&request(Method::GET, script.port), PATIENCE, retries).await;
        assert_eq!(sent.unwrap().status.as_u16(), expected);
        assert_eq!(script.heard.lock().unwrap().len(), asked);
    };
    check(2, &["503 Busy", "200 OK"], 200, 2).await;
    check(1, &["503 Busy", "429 Slow", "200 OK"], 429, 2).await;
    check(0, &["503 Busy", "200 OK"], 503, 1).await;
    check(2, &["500 Broken", "200 OK"], 500, 1).await;
    check(2, &["404 None", "200 OK"], 404, 1).await;
}

#[tokio::test]
async fn what_is_not_allowed_is_not_sent() {
    let script = script(vec![reply("200 OK", "")]).await;
    let public = Egress { allow: vec![HostPattern::parse("127.0.0.1:*").unwrap()], ..Egress::default() };
    for courier in [courier(&[], 0), courier(&["localhost:*"], 0), Courier::new(public)] {
        let sent = courier.send(&request(Method::GET, script.port), PATIENCE, 3).await;
        assert!(matches!(sent, Err(Undelivered::Denied(_))), "{sent:?}");
    }
    assert!(script.heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn redirects_are_followed_as_far_as_allowed() {
    let end = script(vec![reply("200 OK", ""); 3]).await;
    let elsewhere = format!("location: http://localhost:{}/b\r\n", end.port);
    let check =
        async |method: Method, hosts: &[&str], redirects: u8, location: &str, expected: Result<u16, ()>| {
            let start = script(vec![reply("302 Found", location)]).await;
            let sent = courier(hosts, redirects).send(&request(method, start.port), PATIENCE, 0).await;
            assert_eq!(sent.map(|fetched| fetched.status.as_u16()).map_err(|_| ()), expected, "{location}");
        };
    let both = ["127.0.0.1:*", "localhost:*"];
    check(Method::GET, &both, 0, &elsewhere, Ok(302)).await;
    check(Method::POST, &both, 3, &elsewhere, Ok(302)).await;
    check(Method::GET, &["127.0.0.1:*"], 3, &elsewhere, Err(())).await;
    check(Method::GET, &both, 3, "location: file:///etc/passwd\r\n", Err(())).await;
    assert!(end.heard.lock().unwrap().is_empty());
    check(Method::GET, &both, 1, &elsewhere, Ok(200)).await;
    let heard = end.heard.lock().unwrap();
    assert!(heard[0].starts_with("GET /b "), "{}", heard[0]);
    assert!(!heard[0].contains("secret"), "what is meant for one host is not told to another");
}

#[tokio::test]
async fn answers_have_a_limit_in_length_and_time() {
    let long = script(vec![reply("200 OK", "")]).await;
    let mut egress = Egress::clone(&courier(&["127.0.0.1:*"], 0).egress());
    egress.max_answer_bytes = 1;
    let sent = Courier::new(egress).send(&request(Method::GET, long.port), PATIENCE, 0).await;
    assert!(matches!(sent, Err(Undelivered::Failed(_))), "{sent:?}");
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let patience = Duration::from_millis(50);
    let sent = courier(&["127.0.0.1:*"], 0).send(&request(Method::GET, port), patience, 3).await;
    assert!(matches!(sent, Err(Undelivered::TooSlow(_))), "{sent:?}");
}

/// What a name that leads to this machine is found to be.
fn here(port: u16) -> Found {
    ready(Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])).boxed()
}

/// Whoever answers for a name could answer differently the next time: a name is looked up once for each request, and
/// the connection goes to an address that was judged.
#[tokio::test]
async fn a_name_is_looked_up_once_and_only_judged_addresses_are_connected_to() {
    let end = script(vec![reply("200 OK", "")]).await;
    let moved = format!("location: http://second.invalid:{}/b\r\n", end.port);
    let start = script(vec![reply("302 Found", &moved)]).await;
    let looked_up = Mutex::new(Vec::new());
    let look_up = |name: &str, port: u16| {
        looked_up.lock().unwrap().push(name.to_owned());
        here(port)
    };
    let mut asked = request(Method::GET, start.port);
    asked.url = format!("http://first.invalid:{}/a", start.port);
    let sent = courier(&["*.invalid:*"], 1).follow_names(&asked, look_up).await;
    assert_eq!(sent.unwrap().status, StatusCode::OK);
    assert_eq!(*looked_up.lock().unwrap(), ["first.invalid", "second.invalid"]);
    let heard = end.heard.lock().unwrap();
    let host = format!("host: second.invalid:{}\r\n", end.port);
    assert!(heard[0].to_lowercase().contains(&host), "{}", heard[0]);
}

#[tokio::test]
async fn a_public_name_that_leads_here_is_not_asked_however_it_is_reached() {
    let inside = script(vec![reply("200 OK", "")]).await;
    let moved = format!("location: http://shop.invalid:{}/b\r\n", inside.port);
    let start = script(vec![reply("302 Found", &moved)]).await;
    let mut egress = Egress::clone(&courier(&["127.0.0.1:*"], 3).egress());
    egress.allow = vec![HostPattern::parse("shop.invalid:*").unwrap()];
    let courier = Courier::new(egress);
    for url in
        [format!("http://shop.invalid:{}/b", inside.port), format!("http://127.0.0.1:{}/a", start.port)]
    {
        let asked = Request { url, ..request(Method::GET, start.port) };
        let sent = courier.follow_names(&asked, |_, port| here(port)).await;
        assert!(matches!(sent, Err(Undelivered::Denied(Denied::Private(_)))), "{}: {sent:?}", asked.url);
    }
    assert_eq!(start.heard.lock().unwrap().len(), 1);
    assert!(inside.heard.lock().unwrap().is_empty());
}
