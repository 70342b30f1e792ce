//! A scripted server on standard input and output: `scripted_server legacy|modern [WORD]…`.
//!
//! `dead` ends at once with words on standard error; everything else is the script's.

#![expect(clippy::print_stderr, reason = "its last words go there")]

use std::io::{BufRead, Write};
use std::process::exit;
use std::sync::Arc;
use std::thread;

use harness::Era;
use harness::scripted::{Out, Scripted};
use serde_json::Value;

struct Stdout;

impl Out for Stdout {
    fn say(&self, message: &str) {
        if !write_line(message) {
            exit(6);
        }
    }

    fn vanish(&self) {
        eprintln!("these are my last words");
        exit(7);
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.contains(&"dead") {
        eprintln!("cannot find my configuration");
        exit(3);
    }
    let era = if words.contains(&"modern") { Era::Modern } else { Era::Legacy };
    let server = Scripted::new(era, &words);
    if era == Era::Legacy {
        server.listen(None, Box::new(write_line));
    }
    for line in std::io::stdin().lock().lines() {
        let Some(message) = line.ok().and_then(|line| serde_json::from_str::<Value>(&line).ok()) else {
            eprintln!("that is no message");
            exit(4);
        };
        if message["method"] == "subscriptions/listen" && era == Era::Modern {
            server.subscribe(&message, Box::new(write_line));
            continue;
        }
        // What the messages do takes its time; the order of notifications and replies must stay.
        if message.get("method").is_some() && message.get("id").is_some() {
            let server = Arc::clone(&server);
            thread::spawn(move || server.hear(&message, &Stdout));
        } else {
            server.hear(&message, &Stdout);
        }
    }
}

fn write_line(message: &str) -> bool {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("{message}\n").as_bytes()).and_then(|()| stdout.flush()).is_ok()
}
