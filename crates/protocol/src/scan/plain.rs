//! Skipping over the plain part of a string, many bytes at a time: most of what a gateway sees is text in strings.

/// As many bytes as every processor we know compares at once.
const PIECE: usize = 16;

/// How many bytes stand before the first quotation mark, backslash or control character.
#[inline]
pub(crate) fn length_of_plain_text(bytes: &[u8]) -> usize {
    let (pieces, rest) = bytes.as_chunks();
    for (at, piece) in pieces.iter().enumerate() {
        let marks = marks_of_special_bytes(piece);
        if marks != 0 {
            return at * PIECE + marks.trailing_zeros() as usize / 8;
        }
    }
    let plain = rest.iter().take_while(|byte| !is_special(**byte)).count();
    bytes.len() - rest.len() + plain
}

/// Sets all bits of each special byte. Written so that the compiler makes a few vector instructions of it: no step
/// depends on another.
#[inline]
fn marks_of_special_bytes(piece: &[u8; PIECE]) -> u128 {
    u128::from_le_bytes(piece.map(|byte| if is_special(byte) { 0xFF } else { 0 }))
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
    fn every_byte_at_every_place_of_a_word_is_told_apart() {
        for byte in 0..=u8::MAX {
            for place in 0..40 {
                for background in [b'a', b'!', b'#', b'[', b']', 0x20, 0x7F, 0x80, 0xFF] {
                    let mut bytes = [background; 40];
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
