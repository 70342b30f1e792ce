//! XXH64, the fast checksum of bodies that are kept whole.
//!
//! The hash chain already proves a kept body, so its own digest only has to let two bodies be compared cheaply. XXH64 is
//! published and available everywhere, so a third party can check our figures.

const PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const PRIME_3: u64 = 0x1656_67B1_9E37_79F9;
const PRIME_4: u64 = 0x85EB_CA77_C2B2_AE63;
const PRIME_5: u64 = 0x27D4_EB2F_1656_67C5;

/// The XXH64 checksum of `bytes` with seed 0.
pub fn xxh64(bytes: &[u8]) -> u64 {
    let (stripes, tail) = bytes.as_chunks::<32>();
    let mut hash = if stripes.is_empty() { PRIME_5 } else { converge(stripes) };
    hash = hash.wrapping_add(bytes.len() as u64);

    let (words, tail) = tail.as_chunks::<8>();
    for word in words {
        hash ^= round(0, u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(PRIME_1).wrapping_add(PRIME_4);
    }
    let (halves, tail) = tail.as_chunks::<4>();
    for half in halves {
        hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(PRIME_1);
        hash = hash.rotate_left(23).wrapping_mul(PRIME_2).wrapping_add(PRIME_3);
    }
    for byte in tail {
        hash ^= u64::from(*byte).wrapping_mul(PRIME_5);
        hash = hash.rotate_left(11).wrapping_mul(PRIME_1);
    }

    hash = (hash ^ (hash >> 33)).wrapping_mul(PRIME_2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(PRIME_3);
    hash ^ (hash >> 32)
}

/// The four lanes over all whole stripes, folded into one word.
fn converge(stripes: &[[u8; 32]]) -> u64 {
    let mut lanes = [PRIME_1.wrapping_add(PRIME_2), PRIME_2, 0, 0u64.wrapping_sub(PRIME_1)];
    for stripe in stripes {
        let (words, _) = stripe.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = round(*lane, u64::from_le_bytes(*word));
        }
    }
    let [a, b, c, d] = lanes;
    let mut hash = a
        .rotate_left(1)
        .wrapping_add(b.rotate_left(7))
        .wrapping_add(c.rotate_left(12))
        .wrapping_add(d.rotate_left(18));
    for lane in lanes {
        hash = (hash ^ round(0, lane)).wrapping_mul(PRIME_1).wrapping_add(PRIME_4);
    }
    hash
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIME_2)).rotate_left(31).wrapping_mul(PRIME_1)
}

#[cfg(test)]
mod tests {
    use super::xxh64;

    #[test]
    fn agrees_with_the_published_vectors() {
        let check = |input: &str, expected: u64| assert_eq!(xxh64(input.as_bytes()), expected, "{input:?}");
        check("", 0xEF46_DB37_51D8_E999);
        check("a", 0xD24E_C4F1_A98C_6E5B);
        check("abc", 0x44BC_2CF5_AD77_0999);
        check("message digest", 0x066E_D728_FCEE_B3BE);
        check("The quick brown fox jumps over the lazy dog", 0x0B24_2D36_1FDA_71BC);
    }
}
