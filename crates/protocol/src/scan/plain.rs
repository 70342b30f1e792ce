//! Skipping over the plain part of a string, eight bytes at a time: most of what a gateway sees is text in strings.

/// A word with 1 in every byte.
const ONES: u64 = u64::MAX / 0xFF;
/// A word with the highest bit of every byte.
const HIGH_BITS: u64 = ONES << 7;

/// How many bytes stand before the first quotation mark, backslash or control character.
#[inline]
pub(crate) fn length_of_plain_text(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let marks = marks_of_special_bytes(u64::from_le_bytes(*word));
        if marks != 0 {
            return at * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count();
    bytes.len() - rest.len() + plain
}

/// Sets the highest bit of each special byte. A borrow may mark bytes above a special one too, never below it; so the
/// lowest mark is always right.
#[inline]
fn marks_of_special_bytes(word: u64) -> u64 {
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word;
    let quotation = zero_bytes(word ^ (ONES * u64::from(b'"')));
    let backslash = zero_bytes(word ^ (ONES * u64::from(b'\\')));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quotation | backslash | control) & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one_by_one(bytes: &[u8]) -> usize {
        bytes.iter().take_while(|byte| **byte >= 0x20 && !b"\"\\".contains(byte)).count()
    }

    #[test]
    fn every_byte_at_every_place_of_a_word_is_told_apart() {
        for byte in 0..=u8::MAX {
            for place in 0..24 {
                for background in [b'a', b'!', b'#', b'[', b']', 0x20, 0x7F, 0x80, 0xFF] {
                    let mut bytes = [background; 24];
                    bytes[place] = byte;
                    assert_eq!(length_of_plain_text(&bytes), one_by_one(&bytes), "{byte:#x} at {place}");
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
    }
}
