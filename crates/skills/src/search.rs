//! Finding skills by words.
//!
//! A ranking after BM25: rare words count more than common ones, a word in the name more than one in the text, and a
//! long document does not win by its length. A word of the query also fits longer words that begin with it, for less.
//! The same library and the same query always give the same order.

mod words;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::library::Selection;
use crate::skill::Skill;
use words::words;

/// What a word counts, by where it stands.
const IN_NAME: f64 = 8.0;
const IN_TAGS: f64 = 6.0;
const IN_CATEGORY: f64 = 3.0;
const IN_DESCRIPTION: f64 = 4.0;
const IN_BODY: f64 = 1.0;
/// What a longer word counts that only begins with the word of the query.
const BEGINNING: f64 = 0.4;
/// The shortest word that is completed, and how many completions are looked at.
const SHORTEST_BEGINNING: usize = 3;
const MAX_COMPLETIONS: usize = 64;
/// How many words of a query count.
const MAX_QUERY_WORDS: usize = 32;
/// How many words of a document are known.
const MAX_BODY_WORDS: usize = 20_000;
/// The usual constants of BM25: how fast repetition stops counting, and how much length matters.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// A skill that fits a query.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The skill.
    pub skill: Arc<Skill>,
    /// How well it fits; only good for comparing hits of one query.
    pub score: f64,
}

/// Which words are in which skills.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// For each word the skills that have it, by their place in the library, and how much it counts there.
    words: BTreeMap<Box<str>, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    average: f64,
}

impl Index {
    /// An index of these skills.
    pub(crate) fn over<'a>(skills: impl Iterator<Item = &'a Arc<Skill>>) -> Index {
        let mut index = Index::default();
        for (place, skill) in skills.enumerate() {
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            let mut length = 0.0;
            let mut add = |text: &str, counted: f64, most: usize| {
                for word in words(text).take(most) {
                    *counts.entry(word).or_default() += counted;
                    length += 1.0;
                }
            };
            add(&skill.name, IN_NAME, usize::MAX);
            add(&skill.tags.join(" "), IN_TAGS, usize::MAX);
            add(skill.category(), IN_CATEGORY, usize::MAX);
            add(&skill.description, IN_DESCRIPTION, usize::MAX);
            add(skill.body(), IN_BODY, MAX_BODY_WORDS);
            for (word, count) in counts {
                index.words.entry(word.into()).or_default().push((place, count));
            }
            index.lengths.push(length);
        }
        index.average = index.lengths.iter().sum::<f64>() / (index.lengths.len().max(1) as f64);
        index
    }

    /// The skills that fit best; `skills` are those the index was made of, in the same order.
    pub(crate) fn find(
        &self,
        text: &str,
        skills: &[&Arc<Skill>],
        selection: &Selection,
        most: usize,
    ) -> Vec<Hit> {
        let mut query: Vec<String> = words(text).take(MAX_QUERY_WORDS).collect();
        query.sort();
        query.dedup();
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        for word in &query {
            for (place, score) in self.scores_of(word) {
                *scores.entry(place).or_default() += score;
            }
        }
        let hits = scores.into_iter().filter_map(|(place, score)| {
            let skill = skills.get(place).filter(|skill| selection.fits(skill))?;
            Some(Hit { skill: Arc::clone(skill), score })
        });
        let mut hits: Vec<Hit> = hits.collect();
        // The sort keeps the order of paths among equals.
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(most);
        hits
    }

    /// What one word of a query adds to each skill: the best of its completions, so that many of them are no gain.
    fn scores_of(&self, word: &str) -> BTreeMap<usize, f64> {
        let mut best: BTreeMap<usize, f64> = BTreeMap::new();
        let completed = self
            .words
            .range::<str, _>((Bound::Included(word), Bound::Unbounded))
            .take_while(|(known, _)| known.starts_with(word));
        for (known, postings) in completed.take(MAX_COMPLETIONS) {
            let is_whole = known.len() == word.len();
            if !is_whole && word.chars().count() < SHORTEST_BEGINNING {
                break;
            }
            let share = if is_whole { 1.0 } else { BEGINNING };
            let rarity = self.rarity(postings.len());
            for (place, count) in postings {
                let score = share * rarity * self.weight(*place, *count);
                let entry = best.entry(*place).or_default();
                *entry = entry.max(score);
            }
        }
        best
    }

    fn rarity(&self, having: usize) -> f64 {
        let (all, having) = (self.lengths.len() as f64, having as f64);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }

    fn weight(&self, place: usize, count: f64) -> f64 {
        let length = self.lengths.get(place).copied().unwrap_or_default() / self.average.max(1.0);
        count * (SATURATION + 1.0) / (count + SATURATION * (1.0 - LENGTH + LENGTH * length))
    }
}

#[cfg(test)]
mod tests;
