//! May this call happen, and at what price?
//!
//! Pure decisions: nothing is read or written here, and the time is always an argument. The operator's [`rules`] are compiled to a
//! [`Policy`]; a caller under a policy has a [`Standing`]; [`admit`] asks every question about a request in order and makes the
//! [`Permitted`] call that upstream code insists on; [`explain`] answers the same questions in words. [`Meters`] count money, rate
//! and concurrency and outlive any change of the rules.

pub mod rules;

mod amount;
mod approval;
mod compile;
mod condition;
mod decision;
mod entry;
mod explain;
mod grant;
mod index;
mod memory;
mod meters;
mod narrowing;
mod pattern;
mod permit;
mod policy;
mod refusal;
mod selector;
mod standing;
mod subject;
mod terms_of_use;
mod unambiguous;

pub use self::amount::Micros;
pub use self::approval::ApprovalNeeded;
pub use self::compile::RuleProblem;
pub use self::decision::{Decision, Verdict};
pub use self::explain::{Explanation, StageOutcome, StageReport, explain};
pub use self::meters::{Meters, PastUse, Recount, Remaining};
pub use self::narrowing::{Narrowing, NarrowingError};
pub use self::pattern::{Pattern, PatternError};
pub use self::permit::{
    Admitted, ArgumentCheck, Outcome, Permitted, Request, Terms, Waiting, admit, admit_owner,
};
pub use self::policy::Policy;
pub use self::refusal::{ArgumentProblem, Denied, Measure, Refusal, Stage};
pub use self::standing::{Standing, VisibilityClass};
pub use self::subject::{Kind, Subject};
pub use self::terms_of_use::{ApprovalShown, Limit, TermsOfUse};
pub use self::unambiguous::unambiguous;
