//! A caller whose identity is settled.

use std::sync::Arc;

/// The name of the caller on stdio when nobody says another one.
pub const STDIO_CALLER: &str = "stdio-client";

/// Names that clients claim for themselves are at most this long, in bytes.
const MAX_CLAIMED_NAME_BYTES: usize = 128;

/// Someone who may be asked for at the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name that rules, budgets and records know.
    pub id: Arc<str>,
    /// The groups the caller is in, in order and each once.
    pub groups: Arc<[Arc<str>]>,
    /// How we know.
    pub how: How,
    /// Until when this holds, in seconds since 1970, if it ends by itself. Whoever remembers a caller must ask again then.
    pub valid_until: Option<u64>,
}

/// How a caller was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// By an API key with this id.
    ApiKey(Arc<str>),
    /// By a token of this issuer.
    Token(Arc<str>),
    /// By the name it claims; the operator allows that.
    ClaimedName,
    /// By its address.
    Address,
    /// By being at the other end of our own standard input.
    Stdio,
}

impl Caller {
    /// The caller on stdio. `claimed` is the value of `MCP_CLIENT_ID`; one that cannot be a name counts as absent.
    pub fn on_stdio(claimed: Option<&str>) -> Caller {
        let name = claimed.filter(|name| is_name(name.as_bytes())).unwrap_or(STDIO_CALLER);
        Caller { id: name.into(), groups: Arc::default(), how: How::Stdio, valid_until: None }
    }

    /// The same caller with more groups.
    #[must_use]
    pub(crate) fn in_groups(mut self, more: &[Arc<str>]) -> Caller {
        let mut groups: Vec<Arc<str>> = self.groups.iter().chain(more).cloned().collect();
        groups.sort_unstable();
        groups.dedup();
        self.groups = groups.into();
        self
    }
}

/// Whether bytes from outside can be the name of a caller: letters, digits and a little punctuation, so that a name can stand in a
/// header, a file and a log line as it is.
pub(crate) fn is_name(bytes: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"._:@/+-".contains(byte);
    !bytes.is_empty() && bytes.len() <= MAX_CLAIMED_NAME_BYTES && bytes.iter().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_on_stdio_may_name_itself() {
        for (claimed, expected) in [
            (None, STDIO_CALLER),
            (Some("desk-7"), "desk-7"),
            (Some(""), STDIO_CALLER),
            (Some("two words"), STDIO_CALLER),
            (Some("line\nbreak"), STDIO_CALLER),
        ] {
            assert_eq!(&*Caller::on_stdio(claimed).id, expected, "{claimed:?}");
        }
    }
}
