//! Measures contenders that take turns.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::project::{BenchProject, open};

/// Rounds before measuring starts: caches fill, folders get created.
pub const WARM_UP: usize = 20;

/// The kind of a row; the picture gives each kind its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    /// What others are compared with.
    Yardstick,
    /// Our program.
    Anyhook,
    /// What people use instead of it.
    Peer,
}

/// One thing to measure.
pub struct Contender {
    pub name: String,
    pub kind: RowKind,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub home: PathBuf,
    pub event: PathBuf,
    /// It takes part in one of this many rounds: slow ones need not be measured as often.
    pub every: usize,
    /// A folder that is removed before each turn, outside the measured time.
    pub without: Option<PathBuf>,
}

/// The times of one contender, in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub name: String,
    pub kind: RowKind,
    pub turns: usize,
    pub median: f64,
    pub percentile_95: f64,
}

/// Makes the contenders take turns, so that a slow moment of the machine affects all of them alike.
/// Each round has another order, so that none always comes after the same one.
pub fn measure(
    place: &BenchProject,
    contenders: &[Contender],
    runs: usize,
) -> Result<Vec<Measured>> {
    for round in 0..WARM_UP {
        for contender in contenders.iter().filter(|one| round % one.every == 0) {
            time(place, contender)?;
        }
    }
    let mut times = vec![Vec::with_capacity(runs); contenders.len()];
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    let mut dice = RandomNumbers(1);
    for round in 0..runs {
        dice.shuffle(&mut order);
        for &index in &order {
            if round % contenders[index].every == 0 {
                times[index].push(time(place, &contenders[index])?);
            }
        }
    }
    let measured = contenders.iter().zip(times).map(|(contender, mut times)| {
        times.sort();
        Measured {
            name: contender.name.clone(),
            kind: contender.kind,
            turns: times.len(),
            median: microseconds(percentile(&times, 50)),
            percentile_95: microseconds(percentile(&times, 95)),
        }
    });
    Ok(measured.collect())
}

/// Runs a contender once and returns how long it took from start to exit.
pub fn time(place: &BenchProject, contender: &Contender) -> Result<Duration> {
    if let Some(folder) = &contender.without {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("{} stays", folder.display()));
            }
            _ => {}
        }
    }
    let mut command = place.command(&contender.program, &contender.home);
    command.args(&contender.arguments).stdin(open(&contender.event)?);
    let start = Instant::now();
    let status = command.status();
    let time = start.elapsed();
    let status = status.with_context(|| format!("`{}` cannot be started", contender.name))?;
    if !status.success() {
        bail!("`{}` ended with {status}, so its time means nothing", contender.name);
    }
    Ok(time)
}

/// Pseudorandom numbers that are the same each time.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn shuffle(&mut self, order: &mut [usize]) {
        for last in (1..order.len()).rev() {
            // The multiplier and the increment are Knuth's; the low bits are the weak ones.
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = usize::try_from(self.0 >> 33).unwrap_or(0);
            order.swap(last, number % (last + 1));
        }
    }
}

/// Returns the value that `percent` of the sorted ones do not exceed.
pub fn percentile<T: Copy>(sorted: &[T], percent: usize) -> T {
    sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1]
}

/// Returns a time in microseconds.
pub fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Rounds to two decimals: more would be noise.
pub fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(name: &str, program: &str, every: usize) -> Contender {
        Contender {
            name: name.to_owned(),
            kind: RowKind::Yardstick,
            program: program.into(),
            arguments: Vec::new(),
            home: "/".into(),
            event: "/dev/null".into(),
            every,
            without: None,
        }
    }

    #[test]
    fn percentiles_of_few_and_many() {
        let one_to = |last: u64| (1..=last).collect::<Vec<_>>();
        assert_eq!(percentile(&one_to(1), 50), 1);
        assert_eq!(percentile(&one_to(3), 50), 2);
        assert_eq!(percentile(&one_to(100), 50), 50);
        assert_eq!(percentile(&one_to(100), 95), 95);
        assert_eq!(percentile(&one_to(3), 95), 3);
    }

    #[test]
    fn the_slow_take_part_in_fewer_rounds() {
        let folder = tempfile::tempdir().unwrap();
        let place = BenchProject::make(folder.path()).unwrap();
        let both = [contender("quick", "/bin/true", 1), contender("slow", "/bin/true", 4)];
        let measured = measure(&place, &both, 10).unwrap();
        assert_eq!(measured.iter().map(|one| one.turns).collect::<Vec<_>>(), [10, 3]);
        assert!(measured.iter().all(|one| one.median > 0.0 && one.percentile_95 >= one.median));
    }

    #[test]
    fn a_contender_that_fails_is_not_timed() {
        let folder = tempfile::tempdir().unwrap();
        let place = BenchProject::make(folder.path()).unwrap();
        let error = time(&place, &contender("broken", "/bin/false", 1)).unwrap_err();
        assert!(error.to_string().contains("`broken` ended with"), "{error}");
    }

    #[test]
    fn the_folder_is_gone_at_each_turn() {
        let folder = tempfile::tempdir().unwrap();
        let place = BenchProject::make(folder.path()).unwrap();
        let gone = folder.path().join("gone");
        fs::create_dir(&gone).unwrap();
        // `mkdir` fails if the folder exists.
        let mut make = contender("make", "/bin/mkdir", 1);
        make.arguments = vec![gone.to_string_lossy().into_owned()];
        make.without = Some(gone);
        time(&place, &make).unwrap();
        time(&place, &make).unwrap();
    }

    #[test]
    fn a_shuffle_keeps_everybody_and_changes_the_order() {
        let mut dice = RandomNumbers(1);
        let mut order: Vec<usize> = (0..20).collect();
        dice.shuffle(&mut order);
        let once = order.clone();
        dice.shuffle(&mut order);
        assert_ne!(order, once);
        order.sort_unstable();
        assert_eq!(order, (0..20).collect::<Vec<_>>());
    }
}
