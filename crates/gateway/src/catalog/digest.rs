//! Digests that are the same in every process and on every machine: they end up in names, cursors and files.

use ring::digest::{Context, SHA256};

/// A digest being made. Each part goes in with its length, so that no two lists of parts give the same bytes.
#[derive(Clone)]
pub(super) struct Digest(Context);

impl Digest {
    /// Begins; `purpose` keeps digests for different things apart.
    pub(super) fn new(purpose: &str) -> Digest {
        Digest(Context::new(&SHA256)).part(purpose.as_bytes())
    }

    /// The same with one more part.
    pub(super) fn part(mut self, bytes: &[u8]) -> Digest {
        self.add(bytes);
        self
    }

    /// Takes one more part in.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    /// The first 64 bits.
    pub(super) fn short(self) -> u64 {
        let whole = self.whole();
        let mut first = [0; 8];
        first.copy_from_slice(&whole[..8]);
        u64::from_be_bytes(first)
    }

    /// All of it.
    pub(super) fn whole(self) -> [u8; 32] {
        let digest = self.0.finish();
        let mut whole = [0; 32];
        whole.copy_from_slice(digest.as_ref());
        whole
    }
}

/// Eight letters and digits that stand for 40 bits of a digest, for names that must stay short.
pub(super) fn letters(digest: u64) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    (0..8).map(|place| char::from(ALPHABET[(digest >> (5 * place)) as usize % 32])).collect()
}

/// Bytes in hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
