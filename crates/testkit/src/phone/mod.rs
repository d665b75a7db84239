//! Stand-ins for the services that carry notices to a phone: an ntfy server, Telegram's Bot API and
//! Slack. They run in the test's own process, on this machine, and are as strict as the real ones
//! where a message could be refused.

mod http;
mod ntfy;
mod slack;
mod telegram;

pub use http::{Server, StandInRequest, StandInResponse, post};
pub use ntfy::NtfyServer;
pub use slack::{SlackMessage, SlackServer};
pub use telegram::{TelegramMessage, TelegramServer};
