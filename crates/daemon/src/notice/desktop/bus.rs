//! Desktop notifications over D-Bus: `org.freedesktop.Notifications` on the session bus.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use anyhook_model::Notice;
use anyhook_model::notice::{Channel, DeliveryResult, NoticeKind};
use futures_core::Stream;
use jiff::Timestamp;
use zbus::names::MemberName;
use zbus::proxy::SignalStream;
use zbus::{Connection, Proxy, Variant, connection, fdo};

use crate::notice::text;

const NAME: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";
/// The longest wait for an answer without a deadline.
const ANSWER_WITHIN: Duration = Duration::from_secs(12 * 60 * 60);

/// A notification that is shown.
#[derive(Debug)]
pub struct DesktopNotification {
    proxy: Proxy<'static>,
    number: u32,
    signals: SignalStream<'static>,
    has_buttons: bool,
    is_markup: bool,
}

/// Shows the notice on the bus at `address`.
pub async fn show(
    address: Option<&str>,
    notice: &Notice,
    limit: Duration,
) -> Result<DesktopNotification, DeliveryResult> {
    let Some(address) = address else {
        return Err(DeliveryResult::absent(Channel::Desktop, "no desktop bus"));
    };
    let showing = async {
        let connection = connect(address).await?;
        DesktopNotification::new(&connection, notice).await.map_err(|error| outcome(&error))
    };
    tokio::time::timeout(limit, showing).await.unwrap_or_else(|_| {
        Err(DeliveryResult::failed(
            Channel::Desktop,
            format!("no answer within {} s", limit.as_secs()),
        ))
    })
}

async fn connect(address: &str) -> Result<Connection, DeliveryResult> {
    connection::Builder::address(address).build().await.map_err(|error| match error {
        zbus::Error::Connection(..) | zbus::Error::InputOutput(_) => {
            DeliveryResult::absent(Channel::Desktop, "no desktop bus")
        }
        error => failed(&error),
    })
}

/// Maps an error of the bus or the desktop to a delivery result.
fn outcome(error: &zbus::Error) -> DeliveryResult {
    let is_absent = matches!(error, zbus::Error::FDO(error)
        if matches!(**error, fdo::Error::ServiceUnknown(_) | fdo::Error::NameHasNoOwner(_)));
    if is_absent {
        return DeliveryResult::absent(
            Channel::Desktop,
            "no desktop notification service is running",
        );
    }
    failed(error)
}

fn failed(error: &zbus::Error) -> DeliveryResult {
    DeliveryResult::failed(Channel::Desktop, text::line(&error.to_string(), text::TITLE))
}

impl DesktopNotification {
    async fn new(connection: &Connection, notice: &Notice) -> zbus::Result<Self> {
        // The proxy only lets signals through that come from the desktop itself.
        let proxy = Proxy::new_owned(connection.clone(), NAME, PATH, NAME).await?;
        let capabilities: Vec<String> = proxy.call("GetCapabilities", &()).await?;
        let can = |what: &str| capabilities.iter().any(|known| known == what);
        let (has_buttons, is_markup) = (can("actions"), can("body-markup"));
        let signals = proxy.receive_all_signals().await?;
        let has_buttons = has_buttons && notice.decision.is_some() && !notice.options.is_empty();
        let mut shown = Self { proxy, number: 0, signals, has_buttons, is_markup };
        let buttons = notice.options.iter().filter(|_| has_buttons);
        let actions: Vec<String> =
            buttons.flat_map(|option| [option.number.to_string(), option.name.clone()]).collect();
        let lasts = notice.until.map(|until| left(until).as_millis());
        let lasts = lasts.map_or(-1, |lasts| i32::try_from(lasts).unwrap_or(i32::MAX).max(1));
        let urgency = urgency(notice.kind);
        let link = notice.url.as_ref().map(|url| format!(" · {url}"));
        let body = format!("{}{}", notice.body, link.unwrap_or_default());
        shown.number = shown.notify(&notice.title, &body, &actions, urgency, lasts).await?;
        Ok(shown)
    }

    async fn notify(
        &self,
        title: &str,
        body: &str,
        actions: &[String],
        urgency: u8,
        lasts: i32,
    ) -> zbus::Result<u32> {
        let body = if self.is_markup { text::escaped(body) } else { body.to_owned() };
        let hints = HashMap::from([("urgency", Variant::from(urgency))]);
        let arguments = ("anyhook", 0_u32, "", title, body, actions, hints, lasts);
        self.proxy.call("Notify", &arguments).await
    }

    /// Waits for a button to be pressed. Returns `None` if there are no buttons, if the
    /// notification is closed, or if the answer is no longer needed: then the notification is
    /// removed.
    pub async fn answer(&mut self, notice: &Notice) -> Option<u32> {
        if !self.has_buttons {
            return None;
        }
        let limit = notice.until.map_or(ANSWER_WITHIN, left).min(ANSWER_WITHIN);
        let Ok(pressed) = tokio::time::timeout(limit, self.pressed()).await else {
            // Best effort: a notification that can no longer be answered should not ask.
            let _: zbus::Result<()> = self.proxy.call("CloseNotification", &self.number).await;
            return None;
        };
        // Only what we offered is accepted, whatever the desktop says.
        notice
            .options
            .iter()
            .map(|option| option.number)
            .find(|number| pressed.as_deref() == Some(number.to_string().as_str()))
    }

    /// Shows that an answer could not be delivered: the person who pressed a button relies on it.
    pub async fn complain(&self, why: &str) {
        let why = text::line(why, text::TITLE);
        let _ = self.notify("anyhook: your answer was not delivered", &why, &[], 1, -1).await;
    }

    async fn pressed(&mut self) -> Option<String> {
        loop {
            let next = poll_fn(|context| Pin::new(&mut self.signals).poll_next(context)).await?;
            let body = next.body();
            match next.header().member().map(MemberName::as_str) {
                Some("ActionInvoked") => {
                    if let Ok((number, action)) = body.deserialize::<(u32, String)>()
                        && number == self.number
                    {
                        return Some(action);
                    }
                }
                Some("NotificationClosed") => {
                    if let Ok((number, _)) = body.deserialize::<(u32, u32)>()
                        && number == self.number
                    {
                        return None;
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns the urgency of such a notice: 2 stays until it is dismissed.
fn urgency(kind: NoticeKind) -> u8 {
    match kind {
        NoticeKind::Decision | NoticeKind::Prompt | NoticeKind::Alarm => 2,
        NoticeKind::Failed | NoticeKind::Gone => 1,
        NoticeKind::Idle | NoticeKind::Pipeline => 0,
    }
}

fn left(until: Timestamp) -> Duration {
    Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_in_the_past_leaves_no_time() {
        assert_eq!(left(Timestamp::UNIX_EPOCH), Duration::ZERO);
    }
}
