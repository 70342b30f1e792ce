//! A look at a body's keys that lets most bodies pass without reading them to the letter.
//!
//! It knows no grammar: in what is JSON, a key is what stands in quotation marks before a colon, and that is all it goes
//! by. Text that happens to look so is taken for a key, too. Whatever is not plain, such as a key with escapes, is left
//! to the scan.

use memchr::{memchr, memchr_iter};

use super::rules::{CompiledRules, SHORT};

/// Whether nothing in a body, which is JSON, has to be taken out.
pub(super) fn finds_nothing(json: &[u8], rules: &CompiledRules) -> bool {
    if !rules.paths.is_empty() {
        return false;
    }
    let mut befores = memchr_iter(b':', json).map(|colon| json.get(..colon).unwrap_or_default());
    // Without them a quotation mark is where a string begins or ends, and no string has a document with strings inside.
    if memchr(b'\\', json).is_none() {
        befores.all(|before| is_harmless(before, rules, false))
    } else {
        !may_quote_documents(json) && befores.all(|before| is_harmless(before, rules, true))
    }
}

/// Whether a string may begin as a document does: with a brace or bracket, with white space, or with an escape, which may
/// stand for any of them.
fn may_quote_documents(json: &[u8]) -> bool {
    json.array_windows().any(|pair| matches!(pair, [b'"', b'{' | b'[' | b'\\' | b' ']))
}

/// Whether what stands before a colon is no key, or one that certainly need not be taken out.
fn is_harmless(before: &[u8], rules: &CompiledRules, has_escapes: bool) -> bool {
    let [head @ .., b'"'] = before.trim_ascii_end() else { return true };
    if !has_escapes && rules.spare_short_keys_like(head) && begins_shortly_before_the_end(head) {
        return true;
    }
    // Keys are short: a loop finds where one begins sooner than a search with wide steps would begin.
    let Some(start) = head.iter().rposition(|byte| *byte == b'"') else { return false };
    let (outside, key) = head.split_at(start);
    let key = key.get(1..).unwrap_or_default();
    let is_plain = !has_escapes || outside.last() != Some(&b'\\') && memchr(b'\\', key).is_none();
    is_plain && !rules.matches_key(key)
}

/// Whether the key at the end is shorter than [`SHORT`]. Looks at all its bytes at once, wherever it begins.
fn begins_shortly_before_the_end(head: &[u8]) -> bool {
    let last = head.last_chunk::<SHORT>().map_or(head, |last| last);
    last.iter().fold(false, |found, byte| found | (*byte == b'"'))
}
