//! Through which of the page's two doors a request came.
//!
//! What lets someone in at one door counts for nothing at the other: sessions and tokens of this
//! machine are not accepted from the network, and devices not on this machine.

/// Where a listener can be reached from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This machine alone, without encryption.
    ThisMachine,
    /// The network, encrypted.
    Network,
}

/// A listener, as requests have to name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Where it can be reached from.
    pub reach: Reach,
    /// The host and port that requests must name.
    pub authority: String,
}

impl Listener {
    /// Returns where its pages come from: what browsers call the origin.
    pub fn origin(&self) -> String {
        let scheme = match self.reach {
            Reach::ThisMachine => "http",
            Reach::Network => "https",
        };
        format!("{scheme}://{}", self.authority)
    }

    /// Returns whether it is for devices of the network.
    pub fn is_for_devices(&self) -> bool {
        self.reach == Reach::Network
    }
}
