//! The keys that detach a person from a session: Ctrl-b, then d.

/// The first key.
const PREFIX: u8 = 0x02;

/// Watches the input for the keys that detach.
#[derive(Debug, Default)]
pub(super) struct DetachKeys {
    has_prefix: bool,
}

impl DetachKeys {
    /// Returns the input for the program, and whether the person detaches. Ctrl-b twice is one
    /// Ctrl-b for the program.
    pub(super) fn take(&mut self, typed: &[u8]) -> (Vec<u8>, bool) {
        let mut passed = Vec::with_capacity(typed.len());
        for &byte in typed {
            match (std::mem::take(&mut self.has_prefix), byte) {
                (true, b'd') => return (passed, true),
                (true, PREFIX) => passed.push(PREFIX),
                (true, _) => passed.extend([PREFIX, byte]),
                (false, PREFIX) => self.has_prefix = true,
                (false, _) => passed.push(byte),
            }
        }
        (passed, false)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ctrl_b_and_d_leave() {
        let mut leaving = DetachKeys::default();
        assert_eq!(leaving.take(b"ab\x02"), (b"ab".to_vec(), false));
        assert_eq!(leaving.take(b"x\x02\x02d"), (b"\x02x\x02d".to_vec(), false));
        assert_eq!(leaving.take(b"a\x02db"), (b"a".to_vec(), true));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_it_is_cut(typed: Vec<u8>, at in 0_usize..100) {
            prop_assume!(!typed.windows(2).any(|two| two == [PREFIX, b'd']));
            let at = at.min(typed.len());
            let whole = DetachKeys::default().take(&typed);
            let mut leaving = DetachKeys::default();
            let (mut first, left) = leaving.take(&typed[..at]);
            prop_assume!(!left);
            let (second, left) = leaving.take(&typed[at..]);
            first.extend(second);
            prop_assert_eq!((first, left), whole);
        }
    }
}
