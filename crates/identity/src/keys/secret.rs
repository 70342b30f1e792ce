//! The key itself, which exists in our memory only while it is made and told.

use std::fmt;

use ring::rand::{SecureRandom, SystemRandom};

/// What every key begins with, so that it is recognised in a log or a repository.
const PREFIX: &str = "tg_";

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// How many digits of base 62 hold 256 bits.
const DIGIT_COUNT: usize = 43;

/// A new key. It prints as `***`; [`ApiKey::reveal`] is the only way to see it.
pub struct ApiKey(String);

impl ApiKey {
    /// Makes a key from 256 random bits; `None` if the system has no randomness to give.
    pub(crate) fn generate() -> Option<ApiKey> {
        let mut random = [0; 32];
        SystemRandom::new().fill(&mut random).ok()?;
        Some(ApiKey(format!("{PREFIX}{}", in_base_62(random))))
    }

    /// Whether something presented looks like one of our keys.
    pub(crate) fn is_one(presented: &[u8]) -> bool {
        presented.starts_with(PREFIX.as_bytes())
    }

    /// The key, to be told once.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub(crate) fn last_four(&self) -> &str {
        self.0.get(self.0.len().saturating_sub(4)..).unwrap_or_default()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Long division by 62, digit by digit; every key has the same length.
fn in_base_62(mut number: [u8; 32]) -> String {
    let mut digits = [b'0'; DIGIT_COUNT];
    for digit in digits.iter_mut().rev() {
        let mut remainder = 0_u16;
        for byte in &mut number {
            let dividend = remainder * 256 + u16::from(*byte);
            *byte = (dividend / 62) as u8;
            remainder = dividend % 62;
        }
        *digit = DIGITS.get(usize::from(remainder)).copied().unwrap_or(b'0');
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_256_bits_are_in_the_key() {
        assert_eq!(in_base_62([0; 32]), "0".repeat(43));
        let mut one = [0; 32];
        one[31] = 61;
        assert_eq!(in_base_62(one), format!("{}z", "0".repeat(42)));
        one[31] = 62;
        assert_eq!(in_base_62(one), format!("{}10", "0".repeat(41)));
        let mut highest_bit = [0; 32];
        highest_bit[0] = 0x80;
        assert_ne!(in_base_62(highest_bit), in_base_62([0; 32]));
        assert_ne!(in_base_62([255; 32]), in_base_62(highest_bit));
    }

    #[test]
    fn keys_are_long_different_and_never_printed() {
        let (one, other) = (ApiKey::generate().unwrap(), ApiKey::generate().unwrap());
        assert_ne!(one.reveal(), other.reveal());
        assert_eq!(one.reveal().len(), 46);
        assert!(ApiKey::is_one(one.reveal().as_bytes()));
        assert!(one.reveal().ends_with(one.last_four()) && one.last_four().len() == 4);
        assert_eq!(format!("{one:?}"), "***");
    }
}
