//! Tokens that only we can make and read: session ids and the state of parked calls.
//!
//! Nothing is kept for them, so any replica with the same key can read them, and a restart loses none.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};

/// What a token is for. A token made for one purpose opens for no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Session,
    ParkedCall,
}

impl Purpose {
    fn label(self) -> &'static [u8] {
        match self {
            Purpose::Session => b"toolgate session 1",
            Purpose::ParkedCall => b"toolgate parked call 1",
        }
    }
}

/// The longest token that is looked at.
const MAX_TOKEN: usize = 64 * 1024;

/// The key that seals and opens.
pub struct Seal {
    key: LessSafeKey,
    random: SystemRandom,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Seal(***)")
    }
}

/// No random numbers or no key could be had: nothing can be sealed.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the system gives no random numbers or refuses the key")]
pub struct SealError;

impl Seal {
    /// A seal with a key that was kept.
    pub fn new(key: &[u8; 32]) -> Result<Seal, SealError> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, key).map_err(|_| SealError)?;
        Ok(Seal { key: LessSafeKey::new(key), random: SystemRandom::new() })
    }

    /// A new key.
    pub fn new_key() -> Result<[u8; 32], SealError> {
        let mut key = [0; 32];
        SystemRandom::new().fill(&mut key).map_err(|_| SealError)?;
        Ok(key)
    }

    /// The key that a text of the operator's stands for.
    pub fn key_of(text: &str) -> [u8; 32] {
        let mut labelled = digest::Context::new(&digest::SHA256);
        labelled.update(b"toolgate session key 1\0");
        labelled.update(text.as_bytes());
        let mut key = [0; 32];
        key.copy_from_slice(labelled.finish().as_ref());
        key
    }

    /// `content` as a token of visible ASCII characters.
    pub fn seal(&self, purpose: Purpose, content: &[u8]) -> Result<String, SealError> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).map_err(|_| SealError)?;
        let mut sealed = content.to_vec();
        self.key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(purpose.label()),
                &mut sealed,
            )
            .map_err(|_| SealError)?;
        let mut token = nonce.to_vec();
        token.append(&mut sealed);
        Ok(URL_SAFE_NO_PAD.encode(token))
    }

    /// What a token of ours holds; nothing for any other.
    pub fn open(&self, purpose: Purpose, token: &str) -> Option<Vec<u8>> {
        if token.len() > MAX_TOKEN {
            return None;
        }
        let mut sealed = URL_SAFE_NO_PAD.decode(token).ok()?;
        if sealed.len() < NONCE_LEN {
            return None;
        }
        let mut content = sealed.split_off(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&sealed).ok()?;
        let opened = self.key.open_in_place(nonce, Aad::from(purpose.label()), &mut content).ok()?.len();
        content.truncate(opened);
        Some(content)
    }

    /// A number nobody can guess.
    pub fn random_number(&self) -> Result<u64, SealError> {
        let mut bytes = [0; 8];
        self.random.fill(&mut bytes).map_err(|_| SealError)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_for_its_purpose_only_and_not_when_changed() {
        let seal = Seal::new(&[7; 32]).unwrap();
        let token = seal.seal(Purpose::Session, b"content").unwrap();
        assert_eq!(seal.open(Purpose::Session, &token).unwrap(), b"content");
        assert!(seal.open(Purpose::ParkedCall, &token).is_none());
        assert!(Seal::new(&[8; 32]).unwrap().open(Purpose::Session, &token).is_none());
        for at in 0..token.len() {
            let mut forged = token.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            assert!(
                seal.open(Purpose::Session, std::str::from_utf8(&forged).unwrap()).is_none(),
                "byte {at}"
            );
        }
        assert!(seal.open(Purpose::Session, "").is_none());
        assert!(seal.open(Purpose::Session, "é").is_none());
    }
}
