//! Generates one test for each point at which a process is killed, so that each has a name and they
//! run in parallel.

/// Generates the tests: a module for each failpoint, and in it one test for each time that the
/// process reaches it. Each calls `$story` with the point and the time.
///
/// `TESTED` lists them, to be compared with all existing points.
#[macro_export]
macro_rules! kill_tests {
    ($story:ident: $($module:ident = $point:literal [$($name:ident $time:literal),+];)+) => {
        const TESTED: &[(&str, &[u32])] = &[$(($point, &[$($time),+])),+];

        $(
            mod $module {
                $(
                    #[test]
                    fn $name() {
                        super::$story($point, $time);
                    }
                )+
            }
        )+
    };
}

/// Asserts that the tests of [`kill_tests!`](crate::kill_tests) are those of all `points`, each as
/// often as `times` says, in the same order.
pub fn assert_complete(tested: &[(&str, &[u32])], points: &[&str], times: fn(&str) -> u32) {
    let all = points.iter().map(|point| (*point, (1..=times(point)).collect::<Vec<u32>>()));
    let expected: Vec<(&str, Vec<u32>)> = all.filter(|(_, times)| !times.is_empty()).collect();
    let tested: Vec<(&str, Vec<u32>)> =
        tested.iter().map(|(point, times)| (*point, times.to_vec())).collect();
    assert_eq!(tested, expected);
}
