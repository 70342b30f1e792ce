//! A look at a body's keys that lets most bodies pass without reading them to the letter.
//!
//! It knows no grammar: in what is JSON, a key is what stands in quotation marks before a colon, and that is all it goes
//! by. Text that happens to look so is taken for a key, too. Whatever is not plain, such as a key with escapes, is left
//! to the scan.

use memchr::{memchr, memchr_iter, memrchr};

use super::rules::CompiledRules;

/// Whether nothing in a body, which is JSON, has to be taken out.
pub(super) fn finds_nothing(json: &[u8], rules: &CompiledRules) -> bool {
    rules.paths.is_empty()
        && !may_quote_documents(json)
        && memchr_iter(b':', json).all(|colon| is_harmless(json.get(..colon).unwrap_or_default(), rules))
}

/// Whether there may be a string with a document inside that has strings itself.
fn may_quote_documents(json: &[u8]) -> bool {
    memchr(b'\\', json).is_some() && json.array_windows().any(|pair| matches!(pair, [b'"', b'{' | b'[']))
}

/// Whether what stands before a colon is no key, or one that certainly need not be taken out.
fn is_harmless(before: &[u8], rules: &CompiledRules) -> bool {
    let [head @ .., b'"'] = before.trim_ascii_end() else { return true };
    let Some(start) = memrchr(b'"', head) else { return false };
    let (outside, key) = (head.get(..start), head.get(start + 1..));
    let is_plain =
        !matches!(outside, Some([.., b'\\'])) && key.is_some_and(|key| memchr(b'\\', key).is_none());
    is_plain && !key.is_some_and(|key| rules.matches_key(key))
}
