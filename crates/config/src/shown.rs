//! Texts of a server's record as they may be shown: references stay, and what may be a secret beside them does not.
//!
//! Values of variables and headers are masked whole by their type. In addresses it is known where secrets stand: before
//! `@` and behind `?`. An argument can be anything, so what is written beside a reference in one counts as secret, but for
//! what is a path.

use crate::MASK;
use crate::node::{Node, Value};
use crate::reference;

/// The last words of options that are followed by a secret.
const SECRETS: [&str; 12] = [
    "token",
    "key",
    "apikey",
    "secret",
    "password",
    "passwd",
    "pwd",
    "pass",
    "passphrase",
    "credential",
    "credentials",
    "authorization",
];

/// Masks the texts with references that a record was written with.
pub(crate) fn mask_written(record: &mut Node) {
    for entry in record.entries_mut().into_iter().flatten() {
        match (entry.key.as_str(), &mut entry.node.value) {
            ("url", _) => mask(&mut entry.node, address),
            ("args", Value::Sequence(arguments)) => {
                arguments.iter_mut().for_each(|node| mask(node, argument));
            }
            ("env" | "headers", Value::Mapping(values)) => {
                values.iter_mut().for_each(|value| mask(&mut value.node, |_| MASK.to_owned()));
            }
            _ => {}
        }
    }
}

fn mask(node: &mut Node, shown: impl Fn(&str) -> String) {
    node.written = node.written.as_deref().map(shown);
}

/// An address without what is literal before `@` and in the values behind `?`.
pub(crate) fn address(text: &str) -> String {
    let (address, query) = split(text, "?").map_or((text, None), |(address, query)| (address, Some(query)));
    let scheme = split(address, "://").map_or(0, |(scheme, _)| scheme.len() + "://".len());
    let (scheme, rest) = address.split_at(scheme);
    let authority = split(rest, "/").map_or(rest.len(), |(authority, _)| authority.len());
    let (authority, path) = rest.split_at(authority);
    // A password may have an `@` of its own; the host has none.
    let mut host = authority;
    while let Some((_, behind)) = split(host, "@") {
        host = behind;
    }
    let user = authority.strip_suffix(host).and_then(|before| before.strip_suffix('@'));
    let user = user.map(|user| hidden(user) + "@").unwrap_or_default();
    let mut shown = [scheme, &user, host, path].concat();
    let mut left = query;
    let mut mark = "?";
    while let Some(query) = left {
        let pair = split(query, "&").map_or(query, |(pair, _)| pair);
        left = split(query, "&").map(|(_, behind)| behind);
        shown += mark;
        shown += &split(pair, "=").map_or(pair.to_owned(), |(key, value)| format!("{key}={}", hidden(value)));
        mark = "&";
    }
    shown
}

/// All arguments: what follows an option that names a secret or a header is masked too.
pub(crate) fn arguments(texts: &[String]) -> Vec<String> {
    let before = std::iter::once("").chain(texts.iter().map(String::as_str));
    let shown = before.zip(texts).map(|(before, text)| match before {
        "--header" | "-H" => header(text),
        option if names_a_secret(option) && !text.starts_with('-') => hidden(text),
        _ => argument(text),
    });
    shown.collect()
}

/// A header as programs take it for an argument: `Name: value`.
fn header(text: &str) -> String {
    split(text, ":")
        .map_or_else(|| hidden(text), |(name, value)| format!("{name}: {}", hidden(value.trim_start())))
}

/// Whether an option ends with a word for a secret: `--api-key`, but not `--key-file`.
fn names_a_secret(option: &str) -> bool {
    let last = option.split(['-', '_', '=']).rfind(|word| !word.is_empty()).unwrap_or_default();
    option.starts_with('-') && SECRETS.iter().any(|secret| last.eq_ignore_ascii_case(secret))
}

/// An argument: the name of an option stays, and so do paths. One without references is masked only if it is an address,
/// or the value of an option that names a secret.
fn argument(text: &str) -> String {
    let option = split(text, "=").filter(|(name, _)| name.starts_with('-'));
    let (option, value) = text.split_at(option.map_or(0, |(name, _)| name.len() + "=".len()));
    if names_a_secret(option) {
        return option.to_owned() + &hidden(value);
    }
    let is_scheme = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if split(value, "://").is_some_and(|(scheme, _)| is_scheme(scheme)) {
        return option.to_owned() + &address(value);
    }
    let pieces = pieces(value);
    if !pieces.iter().any(|piece| matches!(piece, Piece::Reference(_))) {
        return text.to_owned();
    }
    let shown = pieces.iter().map(|piece| match piece {
        Piece::Literal(literal) if !is_harmless(literal) => MASK,
        Piece::Literal(text) | Piece::Reference(text) => text,
    });
    std::iter::once(option).chain(shown).collect()
}

/// Whether what stands beside a reference is a path, or nothing but punctuation.
fn is_harmless(literal: &str) -> bool {
    ["/", "./", "../", "~/"].iter().any(|begin| literal.starts_with(begin))
        || !literal.contains(char::is_alphanumeric)
}

/// The references in a text without their defaults, and a mask for everything else.
fn hidden(text: &str) -> String {
    let shown = pieces(text).into_iter().map(|piece| match piece {
        Piece::Literal(_) => MASK.to_owned(),
        Piece::Reference(text) => {
            text.split_once(":-").map_or(text.to_owned(), |(name, _)| format!("{name}:-{MASK}}}"))
        }
    });
    shown.collect()
}

/// A part of a written text.
enum Piece<'a> {
    Literal(&'a str),
    /// With its dollar and braces.
    Reference(&'a str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut end = 0;
    for span in reference::spans(text) {
        pieces.extend(text.get(end..span.start).filter(|text| !text.is_empty()).map(Piece::Literal));
        pieces.extend(text.get(span.clone()).map(Piece::Reference));
        end = span.end;
    }
    pieces.extend(text.get(end..).filter(|text| !text.is_empty()).map(Piece::Literal));
    pieces
}

/// What is before and behind the first `separator` that is not inside of a reference.
fn split<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let references = reference::spans(text);
    let is_outside = |at: &usize| !references.iter().any(|span| span.contains(at));
    let at = text.match_indices(separator).map(|(at, _)| at).find(is_outside)?;
    Some((text.get(..at)?, text.get(at + separator.len()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_references_and_lose_literals_that_may_be_secret() {
        let check = |text: &str, shown: &str| assert_eq!(address(text), shown);
        check("http://h:80/x", "http://h:80/x");
        check("https://me:pw@h/x?key=pw&flag", "https://***@h/x?key=***&flag");
        check("https://me:p@w@h/", "https://***@h/");
        check("https://me:${PW}@h/@scope?key=${KEY}", "https://***${PW}@h/@scope?key=${KEY}");
        check("https://h/${ID}/x?key=pw-${KEY}&next=pw", "https://h/${ID}/x?key=***${KEY}&next=***");
        check("${BASE}?key=pw", "${BASE}?key=***");
        check("me:pw@${HOST}/", "***@${HOST}/");
        check("https://h/?key=${KEY:-p&w?}", "https://h/?key=${KEY:-***}");
        check("https://$$pw:${PW}@h/", "https://***${PW}@h/");
        check("https://h/?cost=$$5&key=${unclosed", "https://h/?cost=***&key=***");
    }

    #[test]
    fn arguments_keep_references_options_and_paths() {
        let check = |text: &str, shown: &str| assert_eq!(argument(text), shown);
        check("--token=abc", "--token=***");
        check("--key-file=/abc", "--key-file=/abc");
        check("--token=abc${X}", "--token=***${X}");
        check("--token=${X}", "--token=${X}");
        check("sk-live-${X}-end", "***${X}***");
        check("Authorization: Bearer ${X}", "***${X}");
        check("${HOME}/notes", "${HOME}/notes");
        check("--root=/srv/${NAME}", "--root=/srv/${NAME}");
        check("${HOST}:${PORT:-80}", "${HOST}:${PORT:-80}");
        check("--db=postgres://me:pw@${HOST}/db", "--db=postgres://***@${HOST}/db");
        check("postgres://me:pw@h/db", "postgres://***@h/db");
        check("{\"key\": \"pw${X}\", \"at\": \"http://h\"}", "***${X}***");
        check("s/$1/$$2/", "s/$1/$$2/");
    }

    #[test]
    fn what_follows_an_option_for_a_secret_is_masked() {
        let check = |texts: &[&str], shown: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(arguments(&texts), shown);
        };
        check(&["--api-key", "abc", "more"], &["--api-key", "***", "more"]);
        check(&["--use-token", "--verbose"], &["--use-token", "--verbose"]);
        check(&["--header", "Authorization: Bearer abc"], &["--header", "Authorization: ***"]);
        check(&["-H", "X-Key:${KEY}"], &["-H", "X-Key: ${KEY}"]);
        check(&["token", "abc"], &["token", "abc"]);
    }
}
