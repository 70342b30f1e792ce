//! Money as whole micro-units, so that sums are exact. What one unit is worth is the operator's business.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount in micro-units: 1,000,000 of these are one unit of the operator's currency.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Micros {
    /// Nothing.
    pub const ZERO: Micros = Micros(0);

    /// How many micro-units make one unit.
    pub const PER_UNIT: u64 = 1_000_000;

    /// Converts a number as people write it (`0.25`) to micro-units, rounded to the nearest one. Negative numbers, numbers
    /// that are not finite, and numbers beyond what a counter can add up safely give `None`.
    pub fn from_units(units: f64) -> Option<Micros> {
        let micros = (units * Self::PER_UNIT as f64).round();
        // 2^53: the last whole number up to which an f64 is exact, and far below where counters could overflow.
        let countable = micros >= 0.0 && micros <= (1_u64 << 53) as f64;
        countable.then_some(Micros(micros as u64))
    }

    /// Adds without ever wrapping round.
    #[must_use]
    pub fn plus(self, other: Micros) -> Micros {
        Micros(self.0.saturating_add(other.0))
    }

    /// Subtracts, and stops at nothing.
    #[must_use]
    pub fn minus(self, other: Micros) -> Micros {
        Micros(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Micros {
    /// Writes units with as many decimals as there are: `12`, `0.25`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / Self::PER_UNIT, self.0 % Self::PER_UNIT);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let decimals = format!("{rest:06}");
        write!(f, "{whole}.{}", decimals.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them_become_whole_micro_units() {
        for (units, expected) in [
            (0.0, Some(0)),
            (0.7, Some(700_000)),
            (12.0, Some(12_000_000)),
            (0.000_000_4, Some(0)),
            (-0.1, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
            (1e19, None),
        ] {
            assert_eq!(Micros::from_units(units).map(|amount| amount.0), expected, "{units}");
        }
    }

    #[test]
    fn amounts_print_as_units() {
        for (micros, expected) in [(0, "0"), (250_000, "0.25"), (1, "0.000001"), (12_000_000, "12")] {
            assert_eq!(Micros(micros).to_string(), expected);
        }
    }
}
