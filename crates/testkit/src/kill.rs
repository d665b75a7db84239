//! One test for each moment at which a process is killed, so that each has a name and they run side
//! by side.

/// Makes a test of each moment: a module for the fault point, and in it one test for each time at
/// which the process comes by it. Each calls `$story` with the point and the time.
///
/// `TESTED` lists them, to be compared with all the points there are.
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
