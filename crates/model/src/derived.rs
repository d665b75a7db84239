//! A place for what is found out about a call, kept with it until it changes.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A value that is derived from a call when it is first needed.
///
/// Its type is that of the code that computes it. It is ignored when calls are compared.
#[derive(Clone, Default)]
pub struct Derived(OnceLock<Arc<dyn Any + Send + Sync>>);

impl Derived {
    /// Returns the value; `find` computes it the first time. `None` if there is one of another type.
    pub fn get_or_init<Value: Any + Send + Sync>(
        &self,
        find: impl FnOnce() -> Value,
    ) -> Option<&Value> {
        self.0.get_or_init(|| Arc::new(find())).downcast_ref()
    }
}

impl PartialEq for Derived {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Derived {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.get().is_some() { "Derived" } else { "Derived (nothing)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_once_and_has_one_type() {
        let derived = Derived::default();
        assert_eq!(derived.get_or_init(|| 1u8), Some(&1));
        assert_eq!(derived.get_or_init(|| 2u8), Some(&1));
        assert_eq!(derived.get_or_init(|| "other"), None);
        assert_eq!(derived, Derived::default());
    }
}
