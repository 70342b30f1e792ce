//! Server-sent events, read piece by piece as they come.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use crate::connection::lines::{id_at_beginning, id_at_end};

/// How much of the beginning and of the end of an event that is too long is looked at to find out which call it answers.
const LOOKED_AT: usize = 512;

/// One event. An event without data still tells its id and how long to wait before reading on elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerEvent {
    pub(crate) name: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<Duration>,
    pub(crate) data: Bytes,
    /// It was too long and its data are gone.
    pub(crate) overlong: Option<Overlong>,
}

/// What is known of an event that was too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overlong {
    /// The call that it seems to answer.
    pub(crate) answers: Option<u64>,
}

/// An event grew beyond its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventTooLong;

/// What has come of a stream and is not a whole event yet.
pub(crate) struct EventReader {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    event: ServerEvent,
    /// A line ended with a carriage return; a line feed after it belongs to it.
    after_return: bool,
    at_start: bool,
    ready: VecDeque<ServerEvent>,
    limit: usize,
    /// Whether an event that is too long costs only itself.
    skips: bool,
    /// The event being skipped.
    skipping: Option<Overlong>,
    /// The end of the last line that was skipped.
    tail: Vec<u8>,
}

impl EventReader {
    /// Reads a stream whose events have at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> EventReader {
        EventReader {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            event: ServerEvent::default(),
            after_return: false,
            at_start: true,
            ready: VecDeque::new(),
            limit,
            skips: false,
            skipping: None,
            tail: Vec::new(),
        }
    }

    /// The same for a stream that all calls share: an event that is too long is thrown away as it comes.
    pub(crate) fn skipping(limit: usize) -> EventReader {
        EventReader { skips: true, ..EventReader::new(limit) }
    }

    /// The next whole event.
    pub(crate) fn next(&mut self) -> Option<ServerEvent> {
        self.ready.pop_front()
    }

    /// Takes in a piece of the stream.
    pub(crate) fn push(&mut self, mut piece: &[u8]) -> Result<(), EventTooLong> {
        while let Some(&first) = piece.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                piece = piece.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', piece) else {
                self.grow(piece)?;
                return Ok(());
            };
            let (before, rest) = piece.split_at(end);
            self.grow(before)?;
            self.after_return = rest.first() == Some(&b'\r');
            piece = rest.get(1..).unwrap_or_default();
            self.end_line();
        }
        Ok(())
    }

    fn grow(&mut self, piece: &[u8]) -> Result<(), EventTooLong> {
        let is_too_long = self.line.len() + self.data.len() + piece.len() > self.limit.saturating_add(64);
        if is_too_long && self.skipping.is_none() {
            if !self.skips {
                return Err(EventTooLong);
            }
            let begun = [self.data.as_slice(), &self.line, piece];
            let begun = begun.map(|part| part.get(..LOOKED_AT).unwrap_or(part));
            self.skipping = Some(Overlong { answers: id_at_beginning(&begun.concat()) });
            self.data = Vec::new();
        }
        self.line.extend_from_slice(piece);
        if self.skipping.is_some() && self.line.len() > LOOKED_AT {
            self.line.drain(..self.line.len() - LOOKED_AT);
        }
        Ok(())
    }

    fn end_line(&mut self) {
        if let Some(overlong) = self.skipping {
            if !self.line.is_empty() {
                std::mem::swap(&mut self.tail, &mut self.line);
                self.line.clear();
                return;
            }
            self.skipping = None;
            let answers = overlong.answers.or_else(|| id_at_end(&std::mem::take(&mut self.tail)));
            self.event.overlong = Some(Overlong { answers });
            self.has_data = false;
            return self.end_event();
        }
        let line = std::mem::take(&mut self.line);
        let mut text = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if text.is_empty() {
            self.end_event();
        } else {
            self.field(text);
        }
        self.line = line;
        self.line.clear();
    }

    fn field(&mut self, line: &[u8]) {
        let (name, value) = match memchr::memchr(b':', line) {
            Some(at) => {
                let (name, rest) = line.split_at(at);
                let value = rest.get(1..).unwrap_or_default();
                (name, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, [].as_slice()),
        };
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => self.event.name = Some(text()),
            b"id" if !value.contains(&0) => self.event.id = Some(text()),
            b"retry" => self.event.retry = text().parse().ok().map(Duration::from_millis),
            _ => {}
        }
    }

    fn end_event(&mut self) {
        let mut event = std::mem::take(&mut self.event);
        event.data = Bytes::from(std::mem::take(&mut self.data));
        let said = std::mem::take(&mut self.has_data) || event.id.is_some() || event.retry.is_some();
        if said || event.overlong.is_some() {
            self.ready.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(stream: &[u8], pieces: &[usize]) -> Vec<ServerEvent> {
        let mut reader = EventReader::new(1000);
        let mut rest = stream;
        let mut sizes = pieces.iter().cycle();
        while !rest.is_empty() {
            let size = sizes.next().copied().unwrap_or(rest.len()).clamp(1, rest.len());
            let (piece, after) = rest.split_at(size);
            reader.push(piece).unwrap();
            rest = after;
        }
        std::iter::from_fn(|| reader.next()).collect()
    }

    fn event(name: Option<&str>, id: Option<&str>, retry: Option<u64>, data: &'static str) -> ServerEvent {
        ServerEvent {
            name: name.map(str::to_owned),
            id: id.map(str::to_owned),
            retry: retry.map(Duration::from_millis),
            data: Bytes::from_static(data.as_bytes()),
            overlong: None,
        }
    }

    #[test]
    fn streams_are_read_as_the_standard_says() {
        let check = |stream: &str, expected: &[ServerEvent]| {
            assert_eq!(read(stream.as_bytes(), &[usize::MAX]), expected, "{stream:?}");
        };
        check("data: {}\n\n", &[event(None, None, None, "{}")]);
        check("data:a\r\ndata: b\r\n\r\n", &[event(None, None, None, "a\nb")]);
        check("data: a\r\rdata: b\n\n", &[event(None, None, None, "a"), event(None, None, None, "b")]);
        check(": comment\n\ndata\n\n", &[event(None, None, None, "")]);
        check("id: 7\nretry: 250\ndata:\n\n", &[event(None, Some("7"), Some(250), "")]);
        check("id: 7\n\n", &[event(None, Some("7"), None, "")]);
        check("event: endpoint\ndata: /m\n\n", &[event(Some("endpoint"), None, None, "/m")]);
        check("\u{feff}data: x\n\n", &[event(None, None, None, "x")]);
        check("data: unfinished\n", &[]);
        check("retry: soon\nid: a\0b\n\n", &[]);
    }

    #[test]
    fn an_event_beyond_its_bound_is_refused() {
        let mut reader = EventReader::new(10);
        assert_eq!(reader.push(b"data: 0123456789\n\n"), Ok(()));
        assert_eq!(reader.push(&[b'x'; 200]), Err(EventTooLong));
    }

    #[test]
    fn on_a_stream_that_is_shared_it_costs_only_itself() {
        let filling = "x".repeat(5000);
        let check = |long: String, answers: Option<u64>| {
            for size in [1, 7, 100_000] {
                let mut reader = EventReader::skipping(1000);
                let stream = format!("data: 1\n\n{long}\n\ndata: 2\r\n\r\n");
                stream.as_bytes().chunks(size).for_each(|piece| reader.push(piece).unwrap());
                let events: Vec<_> = std::iter::from_fn(|| reader.next()).collect();
                let skipped = ServerEvent { overlong: Some(Overlong { answers }), ..ServerEvent::default() };
                let expected = [event(None, None, None, "1"), skipped, event(None, None, None, "2")];
                assert_eq!(events, expected, "{size} at a time");
            }
        };
        check(format!(r#"data: {{"jsonrpc":"2.0","id":7,"result":{{"a":"{filling}"}}}}"#), Some(7));
        check(format!(r#"data: {{"result":{{"a":"{filling}"}},"id":8}}"#), Some(8));
        check(format!("data: {filling}\ndata: {filling}"), None);
    }

    proptest! {
        #[test]
        fn how_a_stream_is_cut_does_not_matter(
            lines in proptest::collection::vec("(data|id|event|retry|):? ?[a-z0-9]{0,6}(\n|\r|\r\n)", 0..20),
            pieces in proptest::collection::vec(1usize..7, 1..8),
        ) {
            let stream = lines.concat() + "\n\n";
            prop_assert_eq!(read(stream.as_bytes(), &pieces), read(stream.as_bytes(), &[usize::MAX]));
        }
    }
}
