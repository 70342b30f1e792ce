//! One pass over raw JSON that copies everything but the values to be taken out.

use std::borrow::Cow;

use toolgate_protocol::scan::Scanner;
use toolgate_protocol::{Malformed, Span, text};

use super::rules::{CompiledRules, Segment};

/// How many times JSON inside a string inside JSON is looked into.
const MAXIMUM_NESTING: usize = 3;

/// Takes the values out that `rules` name.
pub(super) fn redact<'a>(json: &'a [u8], rules: &CompiledRules) -> Result<Cow<'a, [u8]>, Malformed> {
    let all = (0..rules.paths.len()).collect();
    let trails = if rules.paths.is_empty() { Vec::new() } else { vec![all] };
    redact_nested(json, rules, 0, trails)
}

fn redact_nested<'a>(
    json: &'a [u8],
    rules: &CompiledRules,
    nesting: usize,
    trails: Vec<Trail>,
) -> Result<Cow<'a, [u8]>, Malformed> {
    let mut scanner = Scanner::new(json)?;
    let mut redaction = Redaction { json, rules, nesting, trails, out: Vec::new(), copied: 0 };
    redaction.value(&mut scanner)?;
    scanner.end()?;
    Ok(redaction.finish())
}

/// The path rules that lead through a value.
type Trail = Vec<usize>;

struct Redaction<'j, 'r> {
    json: &'j [u8],
    rules: &'r CompiledRules,
    nesting: usize,
    /// One for each value around the current place, the innermost last; none at all where there are no path rules.
    trails: Vec<Trail>,
    out: Vec<u8>,
    /// How much of the input is already in `out`; 0 as long as nothing was taken out.
    copied: usize,
}

impl<'j> Redaction<'j, '_> {
    fn finish(mut self) -> Cow<'j, [u8]> {
        if self.copied == 0 {
            return Cow::Borrowed(self.json);
        }
        self.out.extend_from_slice(self.json.get(self.copied..).unwrap_or_default());
        Cow::Owned(self.out)
    }

    fn value(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Malformed> {
        match scanner.peek() {
            Some(b'{') => scanner.members(|scanner, key, escaped| self.member(scanner, key, escaped)),
            Some(b'[') => {
                let mut index = 0_usize;
                scanner.elements(|scanner| {
                    let name = index;
                    index += 1;
                    self.value_at(scanner, false, || name.to_string().into())
                })
            }
            Some(b'"') => self.string(scanner),
            _ => scanner.value().map(drop),
        }
    }

    fn member(&mut self, scanner: &mut Scanner<'_>, key: Span, escaped: bool) -> Result<(), Malformed> {
        let raw = key.of(self.json);
        if !escaped {
            return self.value_at(scanner, self.rules.matches_key(raw), || String::from_utf8_lossy(raw));
        }
        match text::unescape(raw) {
            Some(key) => self.value_at(scanner, self.rules.matches_key(key.as_bytes()), || key),
            // What no text can hold may have been meant as any key.
            None => self.take_out(scanner),
        }
    }

    /// Passes the value of a member or element, or takes it out.
    fn value_at<'k>(
        &mut self,
        scanner: &mut Scanner<'_>,
        is_secret: bool,
        name: impl FnOnce() -> Cow<'k, str>,
    ) -> Result<(), Malformed> {
        if self.trails.is_empty() {
            return if is_secret { self.take_out(scanner) } else { self.value(scanner) };
        }
        if self.step_in(&name()) || is_secret {
            self.take_out(scanner)?;
        } else {
            self.value(scanner)?;
        }
        self.trails.pop();
        Ok(())
    }

    /// Narrows the path rules to those that lead through a member. Says whether one ends there.
    fn step_in(&mut self, name: &str) -> bool {
        let depth = self.trails.len();
        let path = |rule: &usize| self.rules.paths.get(*rule).map_or(&[][..], Vec::as_slice);
        let leads_on = |rule: &usize| match path(rule).get(depth - 1) {
            Some(Segment::Any) => true,
            Some(Segment::Named(wanted)) => **wanted == *name,
            None => false,
        };
        let around = self.trails.last().into_iter().flatten();
        let trail: Trail = around.copied().filter(leads_on).collect();
        let ends_here = trail.iter().any(|rule| path(rule).len() == depth);
        self.trails.push(trail);
        ends_here
    }

    /// Passes a string. One that seems to be JSON itself, as the text of a tool's result often is, is looked into.
    fn string(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Malformed> {
        let place = scanner.value()?;
        let inside = place.inside().of(self.json);
        // Without an escaped quotation mark there is no key in it.
        if self.nesting < MAXIMUM_NESTING
            && memchr::memchr(b'\\', inside).is_some()
            && begins_like_a_document(inside)
        {
            self.quoted_document(place, inside);
        }
        Ok(())
    }

    /// If it is not JSON after all, it is text, and stays.
    fn quoted_document(&mut self, place: Span, inside: &[u8]) {
        let Some(document) = text::unescape(inside) else {
            return self.replace(place, &self.rules.replacement);
        };
        // Paths are of the body, not of a document quoted in it.
        let redacted = redact_nested(document.as_bytes(), self.rules, self.nesting + 1, Vec::new());
        if let Ok(Cow::Owned(redacted)) = redacted {
            self.replace(place, text::quote(&String::from_utf8_lossy(&redacted)).as_bytes());
        }
    }

    fn take_out(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Malformed> {
        let place = scanner.value()?;
        self.replace(place, &self.rules.replacement);
        Ok(())
    }

    fn replace(&mut self, place: Span, with: &[u8]) {
        self.out.extend_from_slice(self.json.get(self.copied..place.start()).unwrap_or_default());
        self.out.extend_from_slice(with);
        self.copied = place.end();
    }
}

/// Whether the inside of a string begins with white space and then a brace, a bracket or the quotation mark of a string in
/// the string. Any character may be written as an escape.
fn begins_like_a_document(inside: &[u8]) -> bool {
    let mut rest = inside;
    loop {
        let (character, behind) = match rest {
            [b'\\', b'u', digits @ ..] => {
                match digits.split_at_checked(4).map(|(code, behind)| (hexadecimal(code), behind)) {
                    Some((Some(character), behind)) => (character, behind),
                    _ => return false,
                }
            }
            [b'\\', b'n' | b'r' | b't', behind @ ..] => (b' ', behind),
            [b'\\', character, behind @ ..] | [character, behind @ ..] => (*character, behind),
            [] => return false,
        };
        match character {
            b' ' | b'\t' | b'\n' | b'\r' => rest = behind,
            _ => return matches!(character, b'{' | b'[' | b'"'),
        }
    }
}

/// The character with this number, where that is a single byte.
fn hexadecimal(digits: &[u8]) -> Option<u8> {
    let number = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    u8::try_from(number).ok()
}
