//! Where the next page begins, as an opaque text.
//!
//! A cursor outlives the catalogue it was made from, so it says where the page began in two ways: behind which entry, and
//! at which position should that entry be gone. It holds no secret and opens nothing that is hidden, since every page is
//! cut from what the client may see; its check is there to tell a cursor of ours from any other text.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::digest::Digest;
use super::kind::Kind;

/// The cursor is none of ours, or belongs to another list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown cursor; ask for the list without a cursor to begin again")]
pub struct InvalidCursor;

/// A place in the list of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// How many entries stand before the page.
    pub(super) position: u32,
    /// [`mark`] of the entry before the page.
    pub(super) behind: u64,
}

/// What stands for an exposed name or URI in a cursor.
pub(super) fn mark(exposed: &str) -> u64 {
    Digest::new("mark").part(exposed.as_bytes()).short()
}

impl Cursor {
    /// The text that a client gets.
    pub(super) fn write(self, kind: Kind) -> String {
        let mut bytes = [0; 18];
        bytes[..4].copy_from_slice(&self.position.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.behind.to_be_bytes());
        bytes[12..].copy_from_slice(&self.check(kind));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The place that a client's text stands for in the list of this kind.
    pub(super) fn read(text: &str, kind: Kind) -> Result<Cursor, InvalidCursor> {
        let mut bytes = [0; 18];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
            Ok(18) => {}
            _ => return Err(InvalidCursor),
        }
        let (position, rest) = bytes.split_first_chunk::<4>().ok_or(InvalidCursor)?;
        let (behind, check) = rest.split_first_chunk::<8>().ok_or(InvalidCursor)?;
        let cursor = Cursor { position: u32::from_be_bytes(*position), behind: u64::from_be_bytes(*behind) };
        if cursor.check(kind) == *check { Ok(cursor) } else { Err(InvalidCursor) }
    }

    fn check(self, kind: Kind) -> [u8; 6] {
        let digest = Digest::new("cursor")
            .part(kind.list_key().as_bytes())
            .part(&self.position.to_be_bytes())
            .part(&self.behind.to_be_bytes());
        let [first, second, third, fourth, fifth, sixth, ..] = digest.whole();
        [first, second, third, fourth, fifth, sixth]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_leads_back_in_its_own_list_only(position: u32, name in ".{0,40}") {
            let cursor = Cursor { position, behind: mark(&name) };
            let text = cursor.write(Kind::Tool);
            prop_assert_eq!(Cursor::read(&text, Kind::Tool), Ok(cursor));
            prop_assert_eq!(Cursor::read(&text, Kind::Prompt), Err(InvalidCursor));
        }

        #[test]
        fn any_other_text_is_refused(text in ".{0,60}") {
            prop_assert_eq!(Cursor::read(&text, Kind::Tool), Err(InvalidCursor));
        }

        #[test]
        fn a_changed_cursor_is_refused(position: u32, behind: u64, place in 0_usize..24, letter in "[A-Za-z0-9_-]") {
            let text = Cursor { position, behind }.write(Kind::Resource);
            let mut changed = text.clone();
            changed.replace_range(place..=place, &letter);
            prop_assume!(changed != text);
            prop_assert_eq!(Cursor::read(&changed, Kind::Resource), Err(InvalidCursor));
        }
    }
}
