//! One entry of the ledger, as it is handed in, as it is stored, and as it is read back.
//!
//! A record is made for every call, so making one must not allocate: [`RecordRef`] borrows everything and is encoded
//! straight into a buffer. [`Record`] is its owned twin for readers. Replica and sequence are not part of the
//! encoding: the writer gives them out, and they stand in the journal around the record.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ring::digest::{SHA256, digest};
use serde::Serialize;

use crate::checksum::xxh64;

pub use decode::DecodeError;
pub(crate) use decode::{Input, RecordView};
pub(crate) use encode::put_number;

/// The version byte at the head of every encoded record.
pub(crate) const ENCODING_VERSION: u8 = 2;

/// An enumeration stored as one byte and written out as one word.
macro_rules! coded {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $code:literal $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "snake_case")]
        #[repr(u8)]
        pub enum $name { $($(#[$doc])* $variant = $code,)+ }

        impl $name {
            /// Every value, in the order of the codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The byte this value is stored as.
            pub fn code(self) -> u8 {
                self as u8
            }

            /// The value stored as `code`, if there is one.
            pub fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }

            /// The word for this value in queries and exports.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(UnknownWord { word: word.to_owned(), expected: &[$($word),+] }),
                }
            }
        }
    };
}

coded! {
    /// What was asked for.
    Kind {
        /// A tool was called.
        ToolCall = 1 "tool_call",
        /// A resource was read.
        ResourceRead = 2 "resource_read",
        /// A prompt was fetched.
        PromptGet = 3 "prompt_get",
        /// A completion of an argument was asked for.
        Completion = 4 "completion",
        /// A request refused before it was known what it would do.
        Denial = 5 "denial",
        /// A model was asked through the chat path.
        Chat = 6 "chat",
        /// The result of a task was fetched that an earlier call began.
        TaskResult = 7 "task_result",
    }
}

coded! {
    /// How it ended.
    Status {
        /// A result was given.
        Ok = 1 "ok",
        /// The tool itself said that it failed.
        ToolError = 2 "tool_error",
        /// The call failed with an error of the protocol.
        Error = 3 "error",
        /// Governance refused the call; nothing ran.
        Denied = 4 "denied",
        /// The client gave the call up.
        Cancelled = 5 "cancelled",
        /// The call took longer than it may.
        Timeout = 6 "timeout",
    }
}

coded! {
    /// Which era of the protocol the client spoke.
    Era {
        /// A revision with sessions and `initialize`.
        Legacy = 1 "legacy",
        /// A stateless revision.
        Modern = 2 "modern",
        /// Not MCP: the chat path, the command line.
        Foreign = 3 "foreign",
    }
}

/// A word that names no value of its kind.
#[derive(Debug, thiserror::Error)]
#[error("{word:?} is not known here; use one of {expected:?}")]
pub struct UnknownWord {
    word: String,
    expected: &'static [&'static str],
}

/// What identifies a body when not all of it is at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Digest {
    /// XXH64 of a body that is kept whole. It is not in the journal, since it can be made from what is there.
    Checksum(u64),
    /// SHA-256 of the whole of a body that is kept in part or not at all.
    Sha256([u8; 32]),
}

impl std::fmt::Display for Digest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Checksum(value) => write!(formatter, "xxh64:{value:016x}"),
            Self::Sha256(bytes) => {
                formatter.write_str("sha256:")?;
                bytes.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
            }
        }
    }
}

/// The whole of a body of which only a part is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256.
    pub sha256: [u8; 32],
}

/// Arguments or a result, after redaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyRef<'a> {
    /// The bytes that are kept: all, the beginning, or none.
    pub kept: &'a [u8],
    /// What the kept bytes are a part of; nothing where they are all.
    pub part_of: Option<Whole>,
}

impl<'a> BodyRef<'a> {
    /// Keeps at most `limit` bytes of a redacted body, cut between characters.
    pub fn new(body: &'a [u8], limit: usize) -> Self {
        if body.len() <= limit {
            return Self { kept: body, part_of: None };
        }
        let mut sha256 = [0; 32];
        sha256.copy_from_slice(digest(&SHA256, body).as_ref());
        let mut end = limit;
        while end > 0 && body.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
            end -= 1;
        }
        let whole = Whole { size: body.len() as u64, sha256 };
        Self { kept: body.get(..end).unwrap_or_default(), part_of: Some(whole) }
    }

    /// The size of the whole body in bytes.
    pub fn size(&self) -> u64 {
        self.part_of.map_or(self.kept.len() as u64, |whole| whole.size)
    }
}

/// The owned twin of [`BodyRef`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The bytes that are kept: all, the beginning, or none.
    pub kept: Vec<u8>,
    /// What the kept bytes are a part of; nothing where they are all.
    pub part_of: Option<Whole>,
}

impl From<BodyRef<'_>> for Body {
    fn from(body: BodyRef<'_>) -> Self {
        Self { kept: body.kept.to_vec(), part_of: body.part_of }
    }
}

impl Body {
    /// The same, borrowed.
    pub fn as_ref(&self) -> BodyRef<'_> {
        BodyRef { kept: &self.kept, part_of: self.part_of }
    }

    /// The size of the whole body in bytes.
    pub fn size(&self) -> u64 {
        self.as_ref().size()
    }

    /// The digest of the whole body.
    pub fn digest(&self) -> Digest {
        match self.part_of {
            Some(whole) => Digest::Sha256(whole.sha256),
            None => Digest::Checksum(xxh64(&self.kept)),
        }
    }

    /// Whether all of the body is kept.
    pub fn is_whole(&self) -> bool {
        self.part_of.is_none()
    }
}

/// A record to append, borrowed from wherever its parts live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRef<'a> {
    /// When the request arrived, in microseconds since 1970.
    pub time_us: i64,
    /// Who asked.
    pub caller: &'a str,
    /// The groups the caller was in, those from its token included.
    pub groups: &'a [Arc<str>],
    /// What was asked for.
    pub kind: Kind,
    /// The server that answers; empty if none was found.
    pub server: &'a str,
    /// The tool, resource or prompt as the client names it.
    pub exposed: &'a str,
    /// The same as the server names it.
    pub native: &'a str,
    /// The era of the client.
    pub era: Era,
    /// The arguments, redacted; absent if there were none.
    pub arguments: Option<BodyRef<'a>>,
    /// The result or error, redacted; absent if there was none.
    pub result: Option<BodyRef<'a>>,
    /// How it ended.
    pub status: Status,
    /// The JSON-RPC error code, if it ended with one.
    pub error_code: Option<i32>,
    /// From arrival to the record.
    pub duration_us: u64,
    /// The price held back before the call, in millionths of the operator's unit.
    pub price_reserved: u64,
    /// The price taken in the end, in millionths of the operator's unit.
    pub price_settled: u64,
    /// The trace the call belongs to.
    pub trace_id: Option<[u8; 16]>,
    /// The revision of the policy that decided.
    pub policy_revision: u64,
}

/// A record read back, with its place in the journal of its writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The writer that appended it.
    pub replica: Arc<str>,
    /// Its number in the journal of that writer.
    pub sequence: u64,
    /// When the request arrived, in microseconds since 1970.
    pub time_us: i64,
    /// Who asked.
    pub caller: String,
    /// The groups the caller was in.
    pub groups: Vec<Arc<str>>,
    /// What was asked for.
    pub kind: Kind,
    /// The server that answers; empty if none was found.
    pub server: String,
    /// The tool, resource or prompt as the client names it.
    pub exposed: String,
    /// The same as the server names it.
    pub native: String,
    /// The era of the client.
    pub era: Era,
    /// The arguments, redacted.
    pub arguments: Option<Body>,
    /// The result or error, redacted.
    pub result: Option<Body>,
    /// How it ended.
    pub status: Status,
    /// The JSON-RPC error code, if it ended with one.
    pub error_code: Option<i32>,
    /// From arrival to the record.
    pub duration_us: u64,
    /// The price held back before the call, in millionths of the operator's unit.
    pub price_reserved: u64,
    /// The price taken in the end, in millionths of the operator's unit.
    pub price_settled: u64,
    /// The trace the call belongs to.
    pub trace_id: Option<[u8; 16]>,
    /// The revision of the policy that decided.
    pub policy_revision: u64,
}
