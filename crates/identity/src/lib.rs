//! Who is calling?
//!
//! An [`Authenticator`] looks at what a request presents: an API key, a bearer token of an issuer the operator trusts, a name that
//! the client claims where that is allowed, and at last the address. Credentials that are wrong are refused, never ignored. Reading
//! and writing the file of keys is the only input and output here; fetching an issuer's keys is left to whoever owns the network.

mod authenticator;
mod caller;
mod denied;
mod jwks;
mod keys;
mod token;

pub use self::authenticator::{Anonymous, Authenticator, Presented, Settings};
pub use self::caller::{Caller, How, STDIO_CALLER};
pub use self::denied::{Denied, Reason};
pub use self::jwks::{Jwks, JwksError};
pub use self::keys::{ApiKey, KeyFile, KeyFileError, KeyRecord, Keys, NewKey};
pub use self::token::{Issuer, IssuerSettings};
