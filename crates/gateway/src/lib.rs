//! The data plane: from a client's message to a server's answer.
//!
//! Rooms in the order in which a request meets them: [`downstream`] takes it in, [`session`] knows the client,
//! [`pipeline`] leads it on, [`router`] finds its server in the [`catalog`], [`enforce`] asks whether it may go on,
//! [`relay`] sends it there and brings back what the server says. Beside that path, [`fleet`] keeps the servers and [`published`] what clients see of them.

pub mod approvals;
pub mod catalog;
pub mod downstream;
pub mod enforce;
pub mod fleet;
pub mod gate;
pub mod gateway;
pub mod greeting;
pub mod isolated;
pub mod listen;
pub mod pipeline;
pub mod principal;
pub mod published;
pub mod recorder;
pub mod relay;
pub mod results;
pub mod router;
pub mod seal;
pub mod session;
pub mod sight;
pub mod subscriptions;

pub use fleet::Desired;
pub use gate::Gate;
pub use gateway::{Gateway, Settings};
pub use principal::Principal;
