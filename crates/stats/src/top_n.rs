//! Keeps the N greatest of any number of items.

use std::collections::BTreeMap;

/// Keeps the items with the greatest keys: the newest ones, the slowest ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopN<Key: Ord, Thing> {
    limit: usize,
    things: BTreeMap<Key, Thing>,
}

impl<Key: Ord + Clone, Thing: Clone> TopN<Key, Thing> {
    /// Creates a list that keeps at most `limit` items.
    pub fn new(limit: usize) -> Self {
        Self { limit, things: BTreeMap::new() }
    }

    /// Adds an item, which is only created if it is kept.
    pub fn take(&mut self, key: Key, make: impl FnOnce() -> Thing) {
        let is_full = self.things.len() >= self.limit;
        if is_full && self.things.first_key_value().is_none_or(|(least, _)| key <= *least) {
            return;
        }
        self.things.insert(key, make());
        if self.things.len() > self.limit {
            self.things.pop_first();
        }
    }

    /// Adds the items of another list.
    pub fn merge(&mut self, other: &Self) {
        for (key, thing) in &other.things {
            self.take(key.clone(), || thing.clone());
        }
    }

    /// Returns the items, the greatest first.
    pub fn all(&self) -> impl Iterator<Item = &Thing> {
        self.things.values().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_stay_whatever_the_order() {
        for order in [[1, 2, 3, 4], [4, 3, 2, 1], [3, 1, 4, 2]] {
            let mut kept = TopN::new(2);
            for key in order {
                kept.take(key, || key * 10);
            }
            assert_eq!(kept.all().copied().collect::<Vec<_>>(), [40, 30]);
            let mut more = TopN::new(2);
            more.take(9, || 90);
            more.merge(&kept);
            assert_eq!(more.all().copied().collect::<Vec<_>>(), [90, 40]);
        }
    }

    #[test]
    fn none_can_be_kept() {
        let mut kept = TopN::new(0);
        kept.take(1, || unreachable!("it is not kept"));
        assert_eq!(kept.all().count(), 0);
    }
}
