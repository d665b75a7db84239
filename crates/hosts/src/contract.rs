//! Which versions of an agent behave as its folder says: a contract for each range of versions.

use std::cmp::Ordering;

/// A range of versions that speak the same dialect.
#[derive(Clone, Copy, Debug)]
pub struct Contract {
    /// The first version.
    pub from: &'static str,
    /// The first later version that is known to differ, if there is one.
    pub below: Option<&'static str>,
    /// How it is known.
    pub proof: Proof,
    /// What is special about these versions, if anything is.
    pub note: Option<&'static str>,
    /// Whether hooks work in these versions at all.
    pub is_supported: bool,
}

/// How a contract is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// This version was run with hooks by the tests of this project.
    Run(&'static str),
    /// According to the vendor's documentation or source, as of this date; it was never run.
    FactSheet(&'static str),
}

/// What the contracts of an agent say of a version.
#[derive(Clone, Copy, Debug)]
pub enum Standing {
    /// It is the very version that was run.
    Proven,
    /// It is in the range of a contract, and another version was run.
    Expected(&'static Contract),
    /// It is in no range: later, earlier or unreadable.
    Unknown,
    /// Hooks do not work in it.
    Unsupported(&'static Contract),
}

impl Contract {
    /// Creates the contract of an agent of which one version was run, and of which no other dialect
    /// is known.
    pub const fn run(version: &'static str) -> Self {
        Self {
            from: version,
            below: None,
            proof: Proof::Run(version),
            note: None,
            is_supported: true,
        }
    }

    /// Creates the contract of an agent that was never run.
    pub const fn fact_sheet(from: &'static str, date: &'static str) -> Self {
        let proof = Proof::FactSheet(date);
        Self { from, below: None, proof, note: None, is_supported: true }
    }

    fn holds(&self, version: &str) -> bool {
        let is_below = |limit| compare(version, limit) == Some(Ordering::Less);
        !is_below(self.from)
            && compare(version, self.from).is_some()
            && self.below.is_none_or(is_below)
    }
}

/// Returns what contracts say of a version.
pub fn standing(contracts: &'static [Contract], version: &str) -> Standing {
    let Some(contract) = contracts.iter().find(|contract| contract.holds(version)) else {
        return Standing::Unknown;
    };
    if !contract.is_supported {
        return Standing::Unsupported(contract);
    }
    match contract.proof {
        Proof::Run(proven) if compare(version, proven) == Some(Ordering::Equal) => Standing::Proven,
        _ => Standing::Expected(contract),
    }
}

impl Standing {
    /// Returns its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Expected(_) => "expected",
            Self::Unknown => "unknown",
            Self::Unsupported(_) => "unsupported",
        }
    }

    /// Returns what it means for a version, for people.
    pub fn words(self, version: &str, tried: Option<&str>) -> String {
        let tried = match tried {
            Some(tried) => format!("{tried} was"),
            None => "no version was".to_owned(),
        };
        match self {
            Self::Proven => format!("version {version} is the one that anyhook was tested with"),
            Self::Expected(Contract { note: Some(note), .. }) => {
                format!("version {version} was not tested with anyhook ({tried}): {note}")
            }
            Self::Expected(_) => format!("version {version} was not tested with anyhook ({tried})"),
            Self::Unknown => {
                format!("version {version} is outside of what anyhook was tested with ({tried})")
            }
            Self::Unsupported(contract) => {
                let note = contract.note.unwrap_or("it calls none");
                format!("hooks do not work in version {version}: {note}")
            }
        }
    }
}

/// Compares two versions number by number; `None` if one of them has no number at its start.
///
/// A version with a suffix after its numbers, such as `1.2.0-beta`, comes before the one without.
pub fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (parts(one)?, parts(other)?);
    let length = one.numbers.len().max(other.numbers.len());
    let number = |numbers: &[u64], index: usize| numbers.get(index).copied().unwrap_or(0);
    let by_number = (0..length)
        .map(|index| number(&one.numbers, index).cmp(&number(&other.numbers, index)))
        .find(|order| order.is_ne());
    Some(by_number.unwrap_or_else(|| other.is_early.cmp(&one.is_early)))
}

struct Parts {
    numbers: Vec<u64>,
    is_early: bool,
}

fn parts(version: &str) -> Option<Parts> {
    let version = version.trim().trim_start_matches('v');
    let end = version.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (numbers, rest) = version.split_at(end.unwrap_or(version.len()));
    let numbers: Option<Vec<u64>> =
        numbers.trim_end_matches('.').split('.').map(|part| part.parse().ok()).collect();
    Some(Parts { numbers: numbers?, is_early: rest.starts_with('-') })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for (one, other, order) in [
            ("1.9.0", "1.10.0", Ordering::Less),
            ("1.10", "1.10.0", Ordering::Equal),
            ("v2.0.0", "1.99.99", Ordering::Greater),
            ("1.0.0-beta.1", "1.0.0", Ordering::Less),
            ("2026.11.1", "2026.2.30", Ordering::Greater),
        ] {
            assert_eq!(compare(one, other), Some(order), "{one} {other}");
        }
        assert_eq!(compare("latest", "1.0"), None);
    }

    #[test]
    fn a_version_has_the_standing_of_its_range() {
        static CONTRACTS: [Contract; 2] = [
            Contract { below: Some("1.52.0"), ..Contract::run("1.51.0") },
            Contract {
                note: Some("it only prints that it was replaced"),
                is_supported: false,
                ..Contract::run("1.52.0")
            },
        ];
        assert!(matches!(standing(&CONTRACTS, "1.51.0"), Standing::Proven));
        assert!(matches!(standing(&CONTRACTS, "1.51.3"), Standing::Expected(_)));
        assert!(matches!(standing(&CONTRACTS, "1.50.9"), Standing::Unknown));
        assert!(matches!(standing(&CONTRACTS, "1.53.0"), Standing::Unsupported(_)));
        assert!(matches!(standing(&CONTRACTS, "nightly"), Standing::Unknown));
        let words = |version| standing(&CONTRACTS, version).words(version, Some("1.51.0"));
        assert_eq!(words("1.51.3"), "version 1.51.3 was not tested with anyhook (1.51.0 was)");
        assert_eq!(
            words("1.53.0"),
            "hooks do not work in version 1.53.0: it only prints that it was replaced"
        );
    }
}
