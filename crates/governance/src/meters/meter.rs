//! One set of counters. Only what its quota limits is counted, so that a set with nothing running out can be forgotten.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::quota::CompiledQuota;
use super::window::{Span, Windowed};
use crate::rules::Action;
use crate::{Measure, Micros, Refusal, Stage};

/// Counters behind their own small lock.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    counts: Mutex<Counts>,
}

/// What has been used.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    month: Windowed<Money>,
    day: Windowed<u64>,
    minute_of_calls: Windowed<u64>,
    minute_of_reads: Windowed<u64>,
    running: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Money {
    spent: Micros,
    reserved: Micros,
}

/// What one call took, to be given back or settled in the windows it was taken from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    price: Micros,
    action: Action,
    /// The starts of the windows, by which they are known again; the time of the call would not do if the clock was set back.
    month: Timestamp,
    day: Timestamp,
    minute: Timestamp,
}

impl Meter {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Closes windows that are over. Comes before anything else.
    pub(crate) fn roll(&mut self, quota: &CompiledQuota, now: Timestamp) {
        if quota.budget_per_month.is_some() {
            self.month.roll(now, || quota.calendar.month(now));
        }
        if quota.calls_per_day.is_some() {
            self.day.roll(now, || quota.calendar.day(now));
        }
        self.minute_of_calls.roll(now, || Span::minute(now));
        self.minute_of_reads.roll(now, || Span::minute(now));
    }

    /// Whether the limits of one stage leave room for the call.
    pub(crate) fn check(
        &self,
        quota: &CompiledQuota,
        stage: Stage,
        price: Micros,
        action: Action,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        quota.limits().filter(|(measure, _)| measure.stage() == stage).try_for_each(|(measure, limit)| {
            let wanted = self.wanted(measure, price, action);
            let used = self.used(measure);
            if wanted == 0 || used.saturating_add(wanted) <= limit {
                return Ok(());
            }
            Err(self.refusal(quota, measure, limit, wanted, now))
        })
    }

    /// Takes what the call needs. [`Counts::check`] has said yes under the same lock.
    pub(crate) fn take(&mut self, quota: &CompiledQuota, price: Micros, action: Action) -> Taken {
        if quota.budget_per_month.is_some() {
            self.month.count.reserved = self.month.count.reserved.plus(price);
        }
        for window in self.windows_of(quota, action) {
            window.count = window.count.saturating_add(1);
        }
        self.running = self.running.saturating_add(1);
        let minute = match action {
            Action::Call => self.minute_of_calls.span.start,
            Action::List | Action::Read | Action::Get => self.minute_of_reads.span.start,
        };
        Taken { price, action, month: self.month.span.start, day: self.day.span.start, minute }
    }

    /// The call is over: what was reserved is free again, and `charged` of it is spent. A call that outlived its month is charged to
    /// the month it began in, which is closed.
    pub(crate) fn settle(&mut self, quota: &CompiledQuota, taken: Taken, charged: Micros) {
        self.running = self.running.saturating_sub(1);
        if quota.budget_per_month.is_some() && self.month.span.start == taken.month {
            let money = &mut self.month.count;
            money.reserved = money.reserved.minus(taken.price);
            money.spent = money.spent.plus(charged);
        }
    }

    /// The call never passed the gate: nothing of it stays.
    pub(crate) fn undo(&mut self, quota: &CompiledQuota, taken: Taken) {
        self.settle(quota, taken, Micros::ZERO);
        for window in self.windows_of(quota, taken.action) {
            if window.span.start == taken.minute || window.span.start == taken.day {
                window.count = window.count.saturating_sub(1);
            }
        }
    }

    /// Counts uses that happened earlier, as far as they fall into the windows of now.
    pub(crate) fn replay(
        &mut self,
        quota: &CompiledQuota,
        action: Action,
        at: Timestamp,
        uses: u64,
        charged: Micros,
    ) {
        if quota.budget_per_month.is_some() && self.month.span.contains(at) {
            self.month.count.spent = self.month.count.spent.plus(charged);
        }
        for window in self.windows_of(quota, action).filter(|window| window.span.contains(at)) {
            window.count = window.count.saturating_add(uses);
        }
    }

    /// At least as much is used as in others. Where their windows are different ones, because the quota has another time
    /// zone now, theirs count.
    pub(crate) fn at_least(&mut self, others: &Counts) {
        let spent = others.month.count.spent;
        if self.month.span == others.month.span {
            self.month.count.spent = self.month.count.spent.max(spent);
        } else {
            let count = Money { spent, reserved: Micros::ZERO };
            self.month = Windowed { span: others.month.span, count };
        }
        let pairs = [
            (&mut self.day, &others.day),
            (&mut self.minute_of_calls, &others.minute_of_calls),
            (&mut self.minute_of_reads, &others.minute_of_reads),
        ];
        for (own, other) in pairs {
            let count = if own.span == other.span { own.count.max(other.count) } else { other.count };
            *own = Windowed { span: other.span, count };
        }
    }

    /// How much of a limit is used.
    pub(crate) fn used(&self, measure: Measure) -> u64 {
        match measure {
            Measure::BudgetPerMonth => self.month.count.spent.plus(self.month.count.reserved).0,
            Measure::MaxPerCall => 0,
            Measure::CallsPerMinute => self.minute_of_calls.count,
            Measure::CallsPerDay => self.day.count,
            Measure::ReadsPerMinute => self.minute_of_reads.count,
            Measure::Concurrency => self.running,
        }
    }

    /// When the count starts again, where it does.
    pub(crate) fn resets_at(&self, measure: Measure) -> Option<Timestamp> {
        match measure {
            Measure::BudgetPerMonth => Some(self.month.span.end),
            Measure::CallsPerMinute => Some(self.minute_of_calls.span.end),
            Measure::CallsPerDay => Some(self.day.span.end),
            Measure::ReadsPerMinute => Some(self.minute_of_reads.span.end),
            Measure::MaxPerCall | Measure::Concurrency => None,
        }
    }

    /// Whether nothing would be lost by forgetting these counts.
    pub(crate) fn is_idle(&self, now: Timestamp) -> bool {
        let money = self.month.count;
        let free = |window: &Windowed<u64>| window.count == 0 || window.is_over(now);
        self.running == 0
            && (self.month.is_over(now) || money.spent.plus(money.reserved) == Micros::ZERO)
            && free(&self.day)
            && free(&self.minute_of_calls)
            && free(&self.minute_of_reads)
    }

    /// The counts of uses that the quota limits and the action moves.
    fn windows_of(
        &mut self,
        quota: &CompiledQuota,
        action: Action,
    ) -> impl Iterator<Item = &mut Windowed<u64>> {
        let (calls, day, reads) = (&mut self.minute_of_calls, &mut self.day, &mut self.minute_of_reads);
        let windows = match action {
            Action::Call => [
                quota.calls_per_minute.is_some().then_some(calls),
                quota.calls_per_day.is_some().then_some(day),
            ],
            Action::List | Action::Read | Action::Get => {
                [quota.reads_per_minute.is_some().then_some(reads), None]
            }
        };
        windows.into_iter().flatten()
    }

    /// How much of a limit the call needs.
    fn wanted(&self, measure: Measure, price: Micros, action: Action) -> u64 {
        match (measure, action) {
            (Measure::BudgetPerMonth | Measure::MaxPerCall, _) => price.0,
            (Measure::Concurrency, _) => 1,
            (Measure::CallsPerMinute | Measure::CallsPerDay, Action::Call) => 1,
            (Measure::ReadsPerMinute, Action::Read | Action::Get) => 1,
            (Measure::CallsPerMinute | Measure::CallsPerDay | Measure::ReadsPerMinute, _) => 0,
        }
    }

    fn refusal(
        &self,
        quota: &CompiledQuota,
        measure: Measure,
        limit: u64,
        wanted: u64,
        now: Timestamp,
    ) -> Refusal {
        let used = self.used(measure);
        let number =
            |count: u64| if measure.is_money() { Micros(count).to_string() } else { count.to_string() };
        let mut words = format!("quota `{}`: the {} is {}", quota.id, measure.words(), number(limit));
        if measure == Measure::MaxPerCall {
            words.push_str(&format!(", this call costs {}", number(wanted)));
        } else {
            words.push_str(&format!(", {} used", number(used)));
            if measure.is_money() {
                words.push_str(&format!(", this call costs {}", number(wanted)));
            }
        }
        let refusal = Refusal {
            measure: Some(measure),
            limit: Some(limit),
            used: Some(used),
            ..Refusal::by_rule(measure.stage(), quota.id.clone(), words)
        };
        match self.resets_at(measure) {
            // What does not fit into an empty window never will.
            _ if wanted > limit => refusal,
            Some(resets_at) => refusal.until(resets_at, now),
            None => Refusal { retryable: true, retry_after: Some(1), ..refusal },
        }
    }
}
