//! A look at a body's keys that lets most bodies pass without reading them to the letter.
//!
//! It knows no grammar: in what is JSON, a key is what stands in quotation marks before a colon, and that is all it goes
//! by. Text that happens to look so is taken for a key, too. Whatever is not plain, such as a key with escapes, is left
//! to the scan.

use memchr::memchr;

use super::rules::{CompiledRules, SHORT};

/// As many bytes as are looked at in one step: a word of the processor.
const WORD: usize = 8;

/// Whether nothing in a body, which is JSON, has to be taken out.
pub(super) fn finds_nothing(json: &[u8], rules: &CompiledRules) -> bool {
    if !rules.paths.is_empty() {
        return false;
    }
    let mut befores = colons(json).map(|colon| json.get(..colon).unwrap_or_default());
    // Without them a quotation mark is where a string begins or ends, and no string has a document with strings inside.
    if memchr(b'\\', json).is_none() {
        befores.all(|before| is_harmless(before, rules, false))
    } else {
        !may_quote_documents(json) && befores.all(|before| is_harmless(before, rules, true))
    }
}

/// Where the colons stand. There is one every dozen bytes, which is too often for a search that begins anew behind each.
fn colons(json: &[u8]) -> impl Iterator<Item = usize> {
    let (words, rest) = json.as_chunks::<WORD>();
    let in_words = words.iter().enumerate().flat_map(|(number, word)| {
        let mut marks = marks_of_colons(u64::from_le_bytes(*word));
        std::iter::from_fn(move || {
            let place = marks.trailing_zeros() as usize / 8;
            // Takes the lowest mark away, and stays empty.
            marks &= marks.wrapping_sub(1);
            (place < WORD).then_some(number * WORD + place)
        })
    });
    let in_rest = (words.len() * WORD..).zip(rest).filter(|(_, byte)| **byte == b':').map(|(place, _)| place);
    in_words.chain(in_rest)
}

/// Sets the highest bit of each byte that is a colon, and no other bit.
fn marks_of_colons(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xFF;
    const ALL_BUT_HIGH: u64 = ONES * 0x7F;
    let difference = word ^ (ONES * b':' as u64);
    // Any bit of a byte, but for the highest one, carries into that.
    !(((difference & ALL_BUT_HIGH) + ALL_BUT_HIGH) | difference | ALL_BUT_HIGH)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::colons;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn colons_are_found_where_they_stand(
            bytes in proptest::collection::vec(prop_oneof![Just(b':'), Just(b':' ^ 0x80), Just(b':' + 1), any::<u8>()], 0..40),
        ) {
            let one_by_one: Vec<usize> =
                bytes.iter().enumerate().filter(|(_, byte)| **byte == b':').map(|(place, _)| place).collect();
            prop_assert_eq!(colons(&bytes).collect::<Vec<_>>(), one_by_one);
        }
    }
}
