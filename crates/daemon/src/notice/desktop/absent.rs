//! Desktop notifications in a build without the feature `desktop`: reports that in the outcome.

use std::time::Duration;

use anyhook_model::Notice;
use anyhook_model::notice::{Channel, DeliveryResult};

/// A notification that is shown: this build shows none.
#[derive(Debug)]
pub enum DesktopNotification {}

/// Reports that this build cannot show the notice.
#[expect(clippy::unused_async, reason = "the same signature as with the feature")]
pub async fn show(
    _address: Option<&str>,
    _notice: &Notice,
    _limit: Duration,
) -> Result<DesktopNotification, DeliveryResult> {
    Err(DeliveryResult::absent(
        Channel::Desktop,
        "this build has no desktop notifications (feature `desktop`)",
    ))
}

impl DesktopNotification {
    /// Waits for a button to be pressed.
    #[expect(clippy::unused_async, reason = "the same signature as with the feature")]
    pub async fn answer(&mut self, _notice: &Notice) -> Option<u32> {
        match *self {}
    }

    /// Shows that an answer could not be delivered.
    #[expect(clippy::unused_async, reason = "the same signature as with the feature")]
    pub async fn complain(&self, _why: &str) {
        match *self {}
    }
}
