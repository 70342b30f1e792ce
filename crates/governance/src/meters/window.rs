//! Stretches of time in which things are counted: minutes of the clock, and days and months of a calendar.
//!
//! Windows are fixed, not sliding: a minute starts at second zero for everyone, so that "resets at" is one certain moment. A clock
//! that is set back never opens a window again, so nothing is gained by it.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// From its start up to, but not including, its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

/// Where days and months begin.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    zone: TimeZone,
}

/// A count that starts again with each window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windowed<T> {
    pub(crate) span: Span,
    pub(crate) count: T,
}

impl Span {
    /// A window that is over, whatever the time.
    const BEFORE_ALL_TIME: Span = Span { start: Timestamp::MIN, end: Timestamp::MIN };

    /// The minute of the clock.
    pub(crate) fn minute(now: Timestamp) -> Span {
        let start = now.as_second().div_euclid(60).saturating_mul(60);
        let at = |second| Timestamp::from_second(second).unwrap_or(Timestamp::MAX);
        Span { start: at(start), end: at(start.saturating_add(60)) }
    }

    pub(crate) fn contains(&self, moment: Timestamp) -> bool {
        self.start <= moment && moment < self.end
    }
}

impl Calendar {
    pub(crate) fn new(zone: TimeZone) -> Calendar {
        Calendar { zone }
    }

    /// The day that `now` is in.
    pub(crate) fn day(&self, now: Timestamp) -> Span {
        let today = self.zone.to_datetime(now).date();
        self.between(today, today.checked_add(1.day()).unwrap_or(Date::MAX), now)
    }

    /// The month that `now` is in.
    pub(crate) fn month(&self, now: Timestamp) -> Span {
        let first = self.zone.to_datetime(now).date().first_of_month();
        self.between(first, first.checked_add(1.month()).unwrap_or(Date::MAX), now)
    }

    fn between(&self, first: Date, next: Date, now: Timestamp) -> Span {
        let midnight = |date: Date| date.to_zoned(self.zone.clone()).map(|start| start.timestamp());
        // Beyond the last year that can be told there is no next midnight; a day's wait is then as good as any.
        let start = midnight(first).unwrap_or(now);
        let end = midnight(next)
            .or_else(|_| now.checked_add(SignedDuration::from_hours(24)))
            .unwrap_or(Timestamp::MAX);
        Span { start, end }
    }
}

impl<T: Copy + Default> Windowed<T> {
    /// Starts again if the window is over.
    pub(crate) fn roll(&mut self, now: Timestamp, window: impl FnOnce() -> Span) -> &mut Self {
        if now >= self.span.end {
            *self = Windowed { span: window(), count: T::default() };
        }
        self
    }

    /// Whether the window is over, so that its count means nothing any more.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        now >= self.span.end
    }
}

impl<T: Default> Default for Windowed<T> {
    fn default() -> Self {
        Windowed { span: Span::BEFORE_ALL_TIME, count: T::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn days_and_months_begin_where_the_operator_lives() {
        for (zone, now, day, month) in [
            (
                "UTC",
                "2026-02-28T23:59:59Z",
                ("2026-02-28T00:00:00Z", "2026-03-01T00:00:00Z"),
                ("2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"),
            ),
            (
                "Europe/Berlin",
                "2026-02-28T23:59:59Z",
                ("2026-02-28T23:00:00Z", "2026-03-01T23:00:00Z"),
                ("2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"),
            ),
            // The night the clocks go forward: a day of 23 hours.
            (
                "America/New_York",
                "2026-03-08T12:00:00Z",
                ("2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"),
                ("2026-03-01T05:00:00Z", "2026-04-01T04:00:00Z"),
            ),
            (
                "Asia/Tokyo",
                "2026-12-31T20:00:00Z",
                ("2026-12-31T15:00:00Z", "2027-01-01T15:00:00Z"),
                ("2026-12-31T15:00:00Z", "2027-01-31T15:00:00Z"),
            ),
        ] {
            let calendar = Calendar::new(TimeZone::get(zone).unwrap());
            assert_eq!(calendar.day(at(now)), Span { start: at(day.0), end: at(day.1) }, "{zone} day");
            assert_eq!(
                calendar.month(at(now)),
                Span { start: at(month.0), end: at(month.1) },
                "{zone} month"
            );
        }
    }

    #[test]
    fn minutes_start_at_second_zero() {
        let expected = Span { start: at("2026-01-01T10:05:00Z"), end: at("2026-01-01T10:06:00Z") };
        assert_eq!(Span::minute(at("2026-01-01T10:05:00Z")), expected);
        assert_eq!(Span::minute(at("2026-01-01T10:05:59.999Z")), expected);
    }

    #[test]
    fn the_ends_of_time_do_not_panic() {
        let calendar = Calendar::new(TimeZone::UTC);
        for moment in [Timestamp::MIN, Timestamp::MAX] {
            let _ = (Span::minute(moment), calendar.day(moment), calendar.month(moment));
        }
    }

    #[test]
    fn a_clock_set_back_opens_no_window_again() {
        let mut calls: Windowed<u64> = Windowed::default();
        let (later, earlier) = (at("2026-01-01T10:05:30Z"), at("2026-01-01T10:04:30Z"));
        calls.roll(later, || Span::minute(later)).count = 7;
        assert_eq!(calls.roll(earlier, || Span::minute(earlier)).count, 7);
        let next = at("2026-01-01T10:06:00Z");
        assert_eq!(calls.roll(next, || Span::minute(next)).count, 0);
    }
}
