//! Which day a moment belongs to.
//!
//! Budgets run by day and month in the operator's time zone, so the sums kept for them must use the same days. The
//! ledger knows no time zones; it is given one function and falls back to UTC.

use std::fmt;
use std::sync::Arc;

const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;

/// A day as the number `yyyymmdd`, which sorts, prints and compares as people expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct CivilDay(pub i32);

impl CivilDay {
    /// The day of a civil date.
    pub fn new(year: i32, month: u8, day: u8) -> Self {
        Self(year * 10_000 + i32::from(month) * 100 + i32::from(day))
    }

    /// The month of the day, as the number `yyyymm`.
    pub fn month(self) -> i32 {
        self.0.div_euclid(100)
    }

    /// Whether the next day is in another month.
    pub fn is_last_of_month(self) -> bool {
        let (year, month, day) = (self.0 / 10_000, self.0 / 100 % 100, self.0 % 100);
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        day >= days
    }

    /// The day in UTC of a moment in microseconds since 1970.
    pub fn utc(time_us: i64) -> Self {
        // Days are counted from 1 March of year 0, so that a leap day is the last day of its year.
        let days = time_us.div_euclid(MICROSECONDS_PER_DAY) + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        Self((year * 10_000 + month * 100 + day) as i32)
    }
}

/// The function that says which day a moment belongs to. It must stay the same over the life of a ledger, since sums
/// already made are not made again.
#[derive(Clone)]
pub struct Calendar(Arc<dyn Fn(i64) -> CivilDay + Send + Sync>);

impl Calendar {
    /// Days as `day_of` says, which is given microseconds since 1970.
    pub fn new(day_of: impl Fn(i64) -> CivilDay + Send + Sync + 'static) -> Self {
        Self(Arc::new(day_of))
    }

    /// The day of a moment in microseconds since 1970.
    pub fn day_of(&self, time_us: i64) -> CivilDay {
        (self.0)(time_us)
    }
}

impl Default for Calendar {
    fn default() -> Self {
        Self::new(CivilDay::utc)
    }
}

impl fmt::Debug for Calendar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Calendar")
    }
}

#[cfg(test)]
mod tests {
    use super::CivilDay;

    #[test]
    fn utc_days() {
        let check = |seconds: i64, expected: i32| assert_eq!(CivilDay::utc(seconds * 1_000_000).0, expected);
        check(0, 19700101);
        check(-1, 19691231);
        check(951_782_400, 20000229);
        check(1_709_164_799, 20240228);
        check(1_709_164_800, 20240229);
        check(4_102_444_799, 20991231);
        assert_eq!(CivilDay::new(2026, 7, 28).month(), 202607);
    }

    #[test]
    fn ends_of_months() {
        let check =
            |day: i32, expected: bool| assert_eq!(CivilDay(day).is_last_of_month(), expected, "{day}");
        for day in [20260131, 20260228, 20240229, 20000229, 21000228, 20260430, 20261231] {
            check(day, true);
            check(day - 1, false);
        }
    }
}
