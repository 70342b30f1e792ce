//! Skipping over the plain part of a string: most of what a gateway sees is text in strings, most strings are short, and most
//! text is in long ones.

/// As many bytes as are looked at in one step at the beginning: a word of the processor.
const WORD: usize = 8;
/// A string that goes on behind so many bytes is long, and wide steps are worth beginning.
const SHORT: usize = 4 * WORD;
/// As many bytes as one wide step takes.
const WIDE: usize = 32;
/// A one in each byte of a word.
const ONES: u64 = u64::MAX / 0xFF;
/// The highest bit of each byte.
const HIGH_BITS: u64 = ONES << 7;

/// How many bytes stand before the first quotation mark, backslash or control character.
#[inline]
pub(crate) fn length_of_plain_text(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = bytes.get(at..at + WORD).and_then(<[u8]>::first_chunk) {
        let marks = marks_of_special_bytes(u64::from_le_bytes(*word));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += WORD;
        if at == SHORT {
            at += wide_steps(bytes.get(at..).unwrap_or_default());
        }
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| !is_special(**byte)).count()
}

/// The same where it is less than a word, and a word is there to be looked at.
#[inline]
pub(super) fn length_within_a_word(bytes: &[u8]) -> Option<usize> {
    let marks = marks_of_special_bytes(u64::from_le_bytes(*bytes.first_chunk::<WORD>()?));
    (marks != 0).then(|| marks.trailing_zeros() as usize / 8)
}

/// How many bytes the wide steps take that meet nothing special. Written so that the compiler makes a few vector instructions
/// of each: no byte depends on another.
#[inline(never)]
fn wide_steps(bytes: &[u8]) -> usize {
    let (steps, _) = bytes.as_chunks::<WIDE>();
    let is_plain = |step: &&[u8; WIDE]| !step.iter().fold(false, |found, byte| found | is_special(*byte));
    steps.iter().take_while(is_plain).count() * WIDE
}

/// Sets the highest bit of special bytes. The lowest bit that is set is right; above it, what a subtraction borrows from the
/// next byte may set more.
#[inline]
fn marks_of_special_bytes(word: u64) -> u64 {
    let is_below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    let is_byte = |byte: u8| is_below(word ^ (ONES * u64::from(byte)), 1);
    (is_below(word, 0x20) | is_byte(b'"') | is_byte(b'\\')) & HIGH_BITS
}

#[inline]
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one_by_one(bytes: &[u8]) -> usize {
        bytes.iter().take_while(|byte| **byte >= 0x20 && !b"\"\\".contains(byte)).count()
    }

    #[test]
    fn every_byte_at_every_place_is_told_apart() {
        // Words, two wide steps, words again, and single bytes.
        const LENGTH: usize = SHORT + 2 * WIDE + WORD + 3;
        for byte in 0..=u8::MAX {
            for place in 0..LENGTH {
                for background in [b'a', b'!', b'#', b'[', b']', 0x20, 0x7F, 0x80, 0xFF] {
                    let mut bytes = [background; LENGTH];
                    bytes[place] = byte;
                    let length = one_by_one(&bytes);
                    assert_eq!(length_of_plain_text(&bytes), length, "{byte:#x} at {place}");
                    let within_a_word = (length < WORD).then_some(length);
                    assert_eq!(length_within_a_word(&bytes), within_a_word, "{byte:#x} at {place}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn any_bytes_give_what_a_plain_loop_gives(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(length_of_plain_text(&bytes), one_by_one(&bytes));
        }

        #[test]
        fn so_does_text_with_little_that_is_special(
            bytes in proptest::collection::vec(prop_oneof![60 => 0x20..=0xFF_u8, 1 => any::<u8>()], 0..300),
        ) {
            prop_assert_eq!(length_of_plain_text(&bytes), one_by_one(&bytes));
        }
    }
}
