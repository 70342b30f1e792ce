//! Finds the rules that can apply without trying them all: ten thousand rules about ten thousand named callers cost one look-up.
//!
//! Rules are known by their number, and every list of numbers is in ascending order, which is the order of the file.

use std::sync::Arc;

use foldhash::HashMap;

use crate::selector::{WhatPlace, WhatSelector, WhoPlace, WhoSelector};
use crate::subject::Subject;

/// The number of a rule.
pub(crate) type RuleNumber = u32;

/// Rules by the callers they single out. Rules that cover everyone need no index.
#[derive(Debug, Default)]
pub(crate) struct WhoIndex {
    by_caller: HashMap<Box<str>, Vec<RuleNumber>>,
    by_group: HashMap<Box<str>, Vec<RuleNumber>>,
    wild: Vec<RuleNumber>,
}

/// Rules by the things they may cover. The candidates still have to be asked: a name alone says nothing about the server.
#[derive(Debug, Default)]
pub(crate) struct WhatIndex {
    by_name: HashMap<Box<str>, Vec<RuleNumber>>,
    by_server: HashMap<Box<str>, Vec<RuleNumber>>,
    wild: Vec<RuleNumber>,
}

impl WhoIndex {
    pub(crate) fn insert(&mut self, number: RuleNumber, selector: &WhoSelector) {
        match selector.place() {
            WhoPlace::Everyone => {}
            WhoPlace::Wild => self.wild.push(number),
            WhoPlace::Named { callers, groups } => {
                file_under(&mut self.by_caller, &callers, number);
                file_under(&mut self.by_group, &groups, number);
            }
        }
    }

    /// All rules that single out the caller. `covers` is asked for those with wild patterns only.
    pub(crate) fn singling_out(
        &self,
        caller: &str,
        groups: &[Arc<str>],
        covers: impl Fn(RuleNumber) -> bool,
    ) -> Box<[RuleNumber]> {
        let mut numbers = self.by_caller.get(caller).cloned().unwrap_or_default();
        numbers.extend(groups.iter().filter_map(|group| self.by_group.get(&**group)).flatten());
        numbers.extend(self.wild.iter().filter(|number| covers(**number)));
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_boxed_slice()
    }
}

impl WhatIndex {
    pub(crate) fn insert(&mut self, number: RuleNumber, selector: &WhatSelector) {
        match selector.place() {
            WhatPlace::Names(names) => file_under(&mut self.by_name, &names, number),
            WhatPlace::Servers(servers) => file_under(&mut self.by_server, &servers, number),
            WhatPlace::Wild => self.wild.push(number),
        }
    }

    /// The lists in which rules about the thing can be; a rule is in one of them at most.
    pub(crate) fn candidates(&self, subject: &Subject<'_>) -> [&[RuleNumber]; 3] {
        [
            self.by_name.get(subject.name).map_or(&[][..], Vec::as_slice),
            self.by_server.get(subject.server).map_or(&[][..], Vec::as_slice),
            &self.wild,
        ]
    }
}

fn file_under(map: &mut HashMap<Box<str>, Vec<RuleNumber>>, keys: &[&str], number: RuleNumber) {
    for key in keys {
        let numbers = map.entry((*key).into()).or_default();
        // The same name twice in one rule must not file it twice.
        if numbers.last() != Some(&number) {
            numbers.push(number);
        }
    }
}
