//! A look at a body's keys that lets most bodies pass without reading them to the letter.
//!
//! It knows no grammar: in what is JSON, a key is what stands in quotation marks before a colon, and that is all it goes
//! by. Text that happens to look so is taken for a key, too. Whatever is not plain, such as a key with escapes, is left
//! to the scan.

use memchr::{memchr, memchr_iter};

use super::rules::CompiledRules;

/// Whether nothing in a body, which is JSON, has to be taken out.
pub(super) fn finds_nothing(json: &[u8], rules: &CompiledRules) -> bool {
    // Without them a quotation mark is where a string begins or ends, and no string has a document with strings inside.
    let has_escapes = memchr(b'\\', json).is_some();
    rules.paths.is_empty()
        && !(has_escapes && may_quote_documents(json))
        && memchr_iter(b':', json)
            .all(|colon| is_harmless(json.get(..colon).unwrap_or_default(), rules, has_escapes))
}

fn may_quote_documents(json: &[u8]) -> bool {
    json.array_windows().any(|pair| matches!(pair, [b'"', b'{' | b'[']))
}

/// Whether what stands before a colon is no key, or one that certainly need not be taken out.
fn is_harmless(before: &[u8], rules: &CompiledRules, has_escapes: bool) -> bool {
    let [head @ .., b'"'] = before.trim_ascii_end() else { return true };
    // Keys are short: a loop finds where one begins sooner than a search with wide steps would begin.
    let Some(start) = head.iter().rposition(|byte| *byte == b'"') else { return false };
    let (outside, key) = head.split_at(start);
    let key = key.get(1..).unwrap_or_default();
    let is_plain = !has_escapes || outside.last() != Some(&b'\\') && memchr(b'\\', key).is_none();
    is_plain && !rules.matches_key(key)
}
