//! One pass over raw JSON that copies everything but the values to be taken out.
//!
//! The scanner keeps a stack of where it is instead of calling itself, so that deep input costs memory that is bounded
//! and no stack. It is strict about structure, since a key it misjudges would be a secret it misses.

use std::borrow::Cow;
use std::cell::RefCell;

use super::rules::{CompiledRules, MAXIMUM_DEPTH, Segment};

/// How many times JSON inside a string inside JSON is looked into.
const MAXIMUM_NESTING: usize = 3;

/// How much room for a key is kept from one body to the next.
const KEPT_KEY: usize = 4096;

/// Not JSON, or deeper than [`MAXIMUM_DEPTH`].
#[derive(Debug)]
pub(super) struct Unreadable;

/// Takes the values out that `rules` name.
pub(super) fn redact<'a>(json: &'a [u8], rules: &CompiledRules) -> Result<Cow<'a, [u8]>, Unreadable> {
    thread_local! {
        static WORKSPACE: RefCell<Workspace> = RefCell::default();
    }
    WORKSPACE.with_borrow_mut(|workspace| {
        workspace.key.shrink_to(KEPT_KEY);
        workspace.scratch.shrink_to(KEPT_KEY);
        redact_nested(json, rules, workspace, 0)
    })
}

fn redact_nested<'a>(
    json: &'a [u8],
    rules: &CompiledRules,
    workspace: &mut Workspace,
    nesting: usize,
) -> Result<Cow<'a, [u8]>, Unreadable> {
    workspace.levels.clear();
    let mut scanner = Scanner { json, at: 0, rules, nesting, work: workspace, out: Vec::new(), copied: 0 };
    scanner.document()?;
    if scanner.copied == 0 {
        return Ok(Cow::Borrowed(json));
    }
    scanner.out.extend_from_slice(json.get(scanner.copied..).unwrap_or_default());
    Ok(Cow::Owned(scanner.out))
}

struct Scanner<'a> {
    json: &'a [u8],
    at: usize,
    rules: &'a CompiledRules,
    nesting: usize,
    work: &'a mut Workspace,
    out: Vec<u8>,
    /// How much of the input is already in `out`; 0 as long as nothing was taken out.
    copied: usize,
}

/// What a scanner needs on its way, kept from one body to the next.
#[derive(Default)]
struct Workspace {
    levels: Vec<Level>,
    /// The current key, where path rules want to know it.
    key: Vec<u8>,
    scratch: Vec<u8>,
}

/// An object or array around the current place.
struct Level {
    is_object: bool,
    index: usize,
    /// Which path rules lead through the current member.
    matched_paths: Vec<usize>,
}

impl Scanner<'_> {
    fn document(&mut self) -> Result<(), Unreadable> {
        self.value()?;
        while !self.work.levels.is_empty() {
            self.member()?;
        }
        self.skip_space();
        if self.at == self.json.len() { Ok(()) } else { Err(Unreadable) }
    }

    /// The next member of the innermost object or array, or its end.
    fn member(&mut self) -> Result<(), Unreadable> {
        let Some(level) = self.work.levels.last() else { return Err(Unreadable) };
        let (is_object, index) = (level.is_object, level.index);
        self.skip_space();
        if self.peek() == Some(if is_object { b'}' } else { b']' }) {
            self.at += 1;
            self.work.levels.pop();
            return Ok(());
        }
        if index > 0 {
            self.expect(b',')?;
            self.skip_space();
        }
        let matches_key = is_object && self.key()?;
        // Paths are of the body, not of a document quoted in it.
        let has_paths = self.nesting == 0 && !self.rules.paths.is_empty();
        let matches_path = has_paths && self.step_paths(is_object, index);
        if let Some(level) = self.work.levels.last_mut() {
            level.index += 1;
        }
        self.skip_space();
        if matches_key || matches_path { self.take_out() } else { self.value() }
    }

    /// Reads a key and its colon. Says whether its value is to be taken out.
    fn key(&mut self) -> Result<bool, Unreadable> {
        let start = self.at + 1;
        let has_escapes = self.string()?;
        let raw = self.json.get(start..self.at - 1).ok_or(Unreadable)?;
        let unescaped: String;
        let key = if has_escapes {
            let quoted = self.json.get(start - 1..self.at).ok_or(Unreadable)?;
            unescaped = serde_json::from_slice(quoted).map_err(|_| Unreadable)?;
            unescaped.as_bytes()
        } else {
            raw
        };
        if !self.rules.paths.is_empty() {
            self.work.key.clear();
            self.work.key.extend_from_slice(key);
        }
        self.skip_space();
        self.expect(b':')?;
        Ok(self.rules.matches_key(key, &mut self.work.scratch))
    }

    /// Narrows the path rules to those that lead through the current member. Says whether one ends here.
    fn step_paths(&mut self, is_object: bool, index: usize) -> bool {
        let depth = self.work.levels.len() - 1;
        let index_text;
        let name = if is_object {
            self.work.key.as_slice()
        } else {
            index_text = index.to_string();
            index_text.as_bytes()
        };
        let leads_here = |rule: &usize| match self.rules.paths.get(*rule).and_then(|path| path.get(depth)) {
            Some(Segment::Any) => true,
            Some(Segment::Named(wanted)) => **wanted == *name,
            None => false,
        };
        let matched: Vec<usize> = match depth.checked_sub(1).and_then(|parent| self.work.levels.get(parent)) {
            Some(parent) => parent.matched_paths.iter().copied().filter(leads_here).collect(),
            None => (0..self.rules.paths.len()).filter(leads_here).collect(),
        };
        let ends_here = matched
            .iter()
            .any(|rule| self.rules.paths.get(*rule).is_some_and(|path| path.len() == depth + 1));
        if let Some(level) = self.work.levels.last_mut() {
            level.matched_paths = matched;
        }
        ends_here
    }

    /// Replaces the value that begins here.
    fn take_out(&mut self) -> Result<(), Unreadable> {
        self.out.extend_from_slice(self.json.get(self.copied..self.at).ok_or(Unreadable)?);
        self.out.extend_from_slice(&self.rules.replacement);
        self.pass_over()?;
        self.copied = self.at;
        Ok(())
    }

    /// Looks into a string that seems to be JSON itself, as the text of a tool's result often is. If it is not, it is
    /// text, and stays.
    fn quoted_document(&mut self, start: usize) -> Result<(), Unreadable> {
        if self.nesting >= MAXIMUM_NESTING {
            return Ok(());
        }
        let quoted = self.json.get(start..self.at).ok_or(Unreadable)?;
        let text: String = serde_json::from_slice(quoted).map_err(|_| Unreadable)?;
        if let Ok(Cow::Owned(redacted)) =
            redact_nested(text.as_bytes(), self.rules, &mut Workspace::default(), self.nesting + 1)
        {
            let redacted = String::from_utf8(redacted).map_err(|_| Unreadable)?;
            self.out.extend_from_slice(self.json.get(self.copied..start).ok_or(Unreadable)?);
            serde_json::to_writer(&mut self.out, &redacted).map_err(|_| Unreadable)?;
            self.copied = self.at;
        }
        Ok(())
    }

    /// Passes a whole value without looking for anything in it.
    fn pass_over(&mut self) -> Result<(), Unreadable> {
        let rest = self.json.get(self.at..).ok_or(Unreadable)?;
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<serde::de::IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                self.at += values.byte_offset();
                Ok(())
            }
            _ => Err(Unreadable),
        }
    }

    /// Reads a scalar, or enters an object or array.
    fn value(&mut self) -> Result<(), Unreadable> {
        self.skip_space();
        match self.peek() {
            Some(b'"') => {
                let start = self.at;
                let has_escapes = self.string()?;
                let is_document = matches!(self.json.get(start + 1), Some(b'{' | b'['));
                // Without an escaped quote there is no key in it.
                if has_escapes && is_document { self.quoted_document(start) } else { Ok(()) }
            }
            Some(opening @ (b'{' | b'[')) => {
                if self.work.levels.len() >= MAXIMUM_DEPTH {
                    return Err(Unreadable);
                }
                self.at += 1;
                let is_object = opening == b'{';
                self.work.levels.push(Level { is_object, index: 0, matched_paths: Vec::new() });
                Ok(())
            }
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(b'-' | b'0'..=b'9') => {
                while let Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') = self.peek() {
                    self.at += 1;
                }
                Ok(())
            }
            _ => Err(Unreadable),
        }
    }

    /// Passes a string. Says whether it has escapes.
    fn string(&mut self) -> Result<bool, Unreadable> {
        self.expect(b'"')?;
        let mut has_escapes = false;
        loop {
            let rest = self.json.get(self.at..).ok_or(Unreadable)?;
            let length = memchr::memchr2(b'"', b'\\', rest).ok_or(Unreadable)?;
            self.at += length + 1;
            if rest.get(length) == Some(&b'"') {
                return Ok(has_escapes);
            }
            has_escapes = true;
            self.at += 1;
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Unreadable> {
        if self.json.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            return Ok(());
        }
        Err(Unreadable)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Unreadable> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(Unreadable)
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.json.get(self.at).copied()
    }
}
