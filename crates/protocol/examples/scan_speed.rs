//! How fast messages are looked through: `cargo run --release -p toolgate-protocol --example scan_speed`.
//!
//! Four messages: a call of common size, one with a long text, one of many small values, one full of escapes.
#![expect(clippy::print_stdout, reason = "an example tells its figures on standard output")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use toolgate_protocol::Message;

/// How long each message is looked through, again and again.
const TIME_PER_MESSAGE: Duration = Duration::from_millis(500);

fn main() {
    let small_values = r#"{"id":12345,"name":"entry","open":true,"tags":["a","b"]},"#;
    measure("1 KB call", call(&text("The quick brown fox. ", 850)));
    measure("1 MB of text", call(&text("The quick brown fox. ", 1_000_000)));
    measure("1 MB of small values", call(&format!("[{}null]", small_values.repeat(18_000))));
    measure("1 MB of escapes", call(&text(r"line\n\ttab \u00e9 ", 1_000_000)));
}

fn text(piece: &str, length: usize) -> String {
    format!("\"{}\"", piece.repeat(length / piece.len()))
}

fn call(argument: &str) -> Bytes {
    let meta = r#"{"progressToken":"t-1","io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    Bytes::from(format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"_meta":{meta},"name":"echo","arguments":{{"text":{argument}}}}}}}"#
    ))
}

fn measure(what: &str, message: Bytes) {
    let begin = Instant::now();
    let mut rounds = 0_u32;
    while begin.elapsed() < TIME_PER_MESSAGE {
        for _ in 0..8 {
            let parsed = Message::parse(black_box(message.clone()));
            assert!(black_box(parsed).is_ok(), "the example's own message is readable");
        }
        rounds += 8;
    }
    let each = begin.elapsed() / rounds;
    let rate = message.len() as f64 / each.as_secs_f64() / 1e9;
    println!("{what:22} {:>9} bytes {each:>12.2?} each {rate:>7.2} GB/s", message.len());
}
