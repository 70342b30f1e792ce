//! Taking secrets out of JSON before anything is written.
//!
//! Bodies pass here on the hot path, so no tree is built, and a body in which nothing matches is given back as it came;
//! mostly a look at its keys tells that. A body that is not JSON cannot be trusted to be free of secrets and is replaced
//! as a whole: what cannot be read is not kept.

mod first_look;
mod rules;
mod scan;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::record::BodyRef;

pub use rules::{RedactionRules, RuleError};

use rules::CompiledRules;

/// What stands for a body that could not be read as JSON.
pub const UNREADABLE: &[u8] = br#""[unreadable]""#;

/// Redaction rules, ready to be applied.
#[derive(Debug, Clone)]
pub struct Redactor {
    rules: CompiledRules,
}

impl Redactor {
    /// Compiles rules.
    pub fn new(rules: &RedactionRules) -> Result<Self, RuleError> {
        Ok(Self { rules: CompiledRules::new(rules)? })
    }

    /// A body without its secrets, where the body has been read as JSON before; borrowed if there were none.
    pub fn redact_json<'a>(&self, json: &'a [u8]) -> Cow<'a, [u8]> {
        if first_look::finds_nothing(json, &self.rules) { Cow::Borrowed(json) } else { self.redact(json) }
    }

    /// A body without its secrets, whatever it may be; borrowed if there were none.
    pub fn redact<'a>(&self, json: &'a [u8]) -> Cow<'a, [u8]> {
        if self.rules.is_empty {
            return Cow::Borrowed(json);
        }
        scan::redact(json, &self.rules).unwrap_or(Cow::Borrowed(UNREADABLE))
    }
}

/// A redacted body that lives as long as it takes to append it.
#[derive(Debug)]
pub struct RedactedBody<'a>(Cow<'a, [u8]>);

impl<'a> RedactedBody<'a> {
    /// Redacts a body that has been read as JSON before.
    pub fn new(redactor: &Redactor, json: &'a [u8]) -> Self {
        Self(redactor.redact_json(json))
    }

    /// The part to put into a record: at most `limit` bytes. Size and digest are of the redacted body, so that a
    /// digest never helps to guess a secret.
    pub fn for_record(&self, limit: usize) -> BodyRef<'_> {
        BodyRef::new(&self.0, limit)
    }
}
