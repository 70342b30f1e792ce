//! The two eras of the protocol and what changes between them. Only this room knows both forms.

pub mod answer;
pub mod envelope;
pub mod outgoing;

pub use envelope::Envelope;
pub use outgoing::Outgoing;

/// How a peer speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// 2024-11-05 to 2025-11-25: an `initialize` handshake, sessions, requests in both directions.
    Legacy,
    /// 2026-07-28: stateless, everything in the request, questions as `input_required`.
    Modern,
}
