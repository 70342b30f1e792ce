//! A scripted server over Streamable HTTP, in a thread of the test.

mod request;
mod respond;

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::client::Era;
use crate::scripted::{Out, Scripted};
use request::Request;
use respond::{Answering, Nobody};

/// How often a stream without news looks whether anybody still reads it.
const LOOK: Duration = Duration::from_millis(20);

/// The server. Dropping it closes all its connections.
#[derive(Debug)]
pub struct Upstream {
    inner: Arc<Inner>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Inner {
    era: Era,
    server: Arc<Scripted>,
    address: String,
    stopping: AtomicBool,
    /// Legacy sessions have this number; others are not known.
    session: AtomicU64,
    connections: Mutex<Vec<TcpStream>>,
}

impl Upstream {
    /// Starts a server of this era with these words.
    pub fn start(era: Era, words: &[&str]) -> Upstream {
        Upstream::start_at("127.0.0.1:0", era, words)
    }

    /// The same at a certain address: the one that another server had.
    pub fn start_at(address: &str, era: Era, words: &[&str]) -> Upstream {
        let listener = TcpListener::bind(address).unwrap();
        let inner = Arc::new(Inner {
            era,
            server: Scripted::new(era, words),
            address: listener.local_addr().unwrap().to_string(),
            stopping: AtomicBool::new(false),
            session: AtomicU64::new(1),
            connections: Mutex::default(),
        });
        let serving = Arc::clone(&inner);
        let accepting = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.stopping.load(Ordering::SeqCst) {
                    return;
                }
                serving.connections.lock().unwrap().push(stream.try_clone().unwrap());
                let serving = Arc::clone(&serving);
                // Ends with its connection, which `drop` closes.
                thread::spawn(move || serving.converse(&stream));
            }
        });
        Upstream { inner, accepting: Some(accepting) }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.inner.address)
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.inner.address
    }

    /// What it does and has seen.
    pub fn script(&self) -> &Scripted {
        &self.inner.server
    }

    /// Forgets all sessions, as a server does that was restarted.
    pub fn forget_sessions(&self) {
        self.inner.session.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.inner.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(&self.inner.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        for connection in self.inner.connections.lock().unwrap().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl Inner {
    fn converse(&self, stream: &TcpStream) {
        let mut reader = std::io::BufReader::new(stream);
        while let Some(request) = Request::read(&mut reader) {
            if self.stopping.load(Ordering::SeqCst) || !self.serve(&request, stream) {
                break;
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
    }

    /// Answers a request; whether the connection can be used further.
    fn serve(&self, request: &Request, stream: &TcpStream) -> bool {
        let session = format!("session-{}", self.session.load(Ordering::SeqCst));
        let message = &request.message;
        let begins = message["method"] == "initialize";
        let knows = self.era == Era::Modern || begins || request.header("mcp-session-id") == Some(&session);
        if !self.admits(request) {
            return respond::plain(stream, 401, "a token, please");
        }
        match (request.method.as_str(), self.era) {
            // A probe of the other era gets the error of the script, at 400.
            ("POST", Era::Legacy) if message["method"] == "server/discover" => {
                respond::plain(stream, 400, "no session")
            }
            _ if !knows => respond::plain(stream, 404, "no such session"),
            ("GET", Era::Legacy) => {
                let (sender, news) = channel();
                self.server.listen(None, Box::new(move |message| sender.send(message.to_owned()).is_ok()));
                stream_news(stream, &news)
            }
            ("POST", Era::Modern) if message["method"] == "subscriptions/listen" => {
                let (sender, news) = channel();
                self.server
                    .subscribe(message, Box::new(move |message| sender.send(message.to_owned()).is_ok()));
                stream_news(stream, &news)
            }
            ("POST", _) if message.get("id").is_some() && message.get("method").is_some() => {
                self.answer(message, stream, begins.then_some(session))
            }
            ("POST", _) => {
                self.server.hear(message, &Nobody);
                respond::plain(stream, 202, "")
            }
            ("DELETE", Era::Legacy) => respond::plain(stream, 200, ""),
            _ => respond::plain(stream, 405, "POST, please"),
        }
    }

    fn admits(&self, request: &Request) -> bool {
        let wanted = self.server.value("token").map(|token| format!("Bearer {token}"));
        wanted.is_none() || request.header("authorization") == wanted.as_deref()
    }

    fn answer(&self, message: &Value, stream: &TcpStream, session: Option<String>) -> bool {
        let out = Answering::new(stream, message["id"].clone(), session);
        self.server.hear(message, &out);
        // One that does not answer keeps its client waiting.
        while !out.has_answered() && out.is_awaited() {
            thread::sleep(LOOK);
        }
        out.has_answered()
    }
}

/// Passes news on until nobody reads them.
fn stream_news(stream: &TcpStream, news: &Receiver<String>) -> bool {
    if !respond::begin_events(stream) {
        return false;
    }
    loop {
        let written = match news.recv_timeout(LOOK) {
            Ok(message) => respond::event(stream, &message),
            Err(RecvTimeoutError::Timeout) => respond::is_open(stream),
            Err(RecvTimeoutError::Disconnected) => false,
        };
        if !written {
            return false;
        }
    }
}
