//! The devices that may use the page from the network, and how one of them gets there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::json::Json;
use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::Failed;
use super::layout::{self, PageHead, csrf, page};
use super::parts::{ago, empty};
use crate::api::input::{Body, Name};
use crate::app::{App, blocking};
use crate::devices::{Device, DeviceError};
use crate::error::PageError;
use crate::guard::{Caller, device_cookie_line};
use crate::pairing::{Arrival, PairingError};
use crate::secret::Secret;

/// How long a device that asks whether it was let in waits for the answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Shows the devices.
pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Markup, Failed> {
    let store = app.devices.clone();
    let listed = blocking(move || Ok(store.list()?)).await;
    let devices = match listed {
        Ok(devices) => devices,
        Err(error) => return Err(Failed(error, caller)),
    };
    let content = html! {
        h1 { "Devices" }
        @if devices.is_empty() {
            (empty("No device is paired", &html! {
                code { "anyhook ui --lan" } " in a terminal shows a code for the camera of a phone."
            }))
        }
        ul.plain #devices { @for device in &devices { (line(&caller, device)) } }
    };
    let head = PageHead { section: "/devices", title: "Devices", follows: "" };
    Ok(page(&app, &caller, head, &content).await)
}

fn line(caller: &Caller, device: &Device) -> Markup {
    let is_this = caller.device().is_some_and(|this| this.id == device.id);
    html! {
        li data-key={"device-" (device.id)} {
            strong { (device.name) }
            @if is_this { " " span.chip.good { "this device" } }
            p.meta {
                span { "paired " (ago(device.since)) " ago by " (device.by) }
                span { "used " (ago(device.used)) " ago" }
                span { "id " code { (device.id) } }
            }
            @if matches!(caller, Caller::Browser { .. }) {
                form method="post" action={"/devices/" (device.id) "/remove"} {
                    (csrf(caller))
                    button.danger type="submit" { "Remove" span.unseen { " " (device.name) } }
                }
            }
        }
    }
}

/// Removes a device: it is refused from now on.
pub async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Response, Failed> {
    if caller.device().is_some() {
        let message = "devices are removed on the machine itself";
        let error = PageError::new(StatusCode::FORBIDDEN, "not_here", message);
        return Err(Failed(error.hint("anyhook ui device remove NAME"), caller));
    }
    let store = app.devices.clone();
    match blocking(move || Ok(store.remove(&id)?)).await {
        Ok(_) => Ok(Redirect::to("/devices").into_response()),
        Err(error) => Err(Failed(error, caller)),
    }
}

/// The page on which a device is paired. It says nothing to whoever does not have the link.
pub async fn pair() -> Markup {
    let content = html! {
        h1 { "Pair this device" }
        noscript {
            p.notice.bad { "A device signs what it sends. For that, its browser needs JavaScript." }
        }
        form #pair hidden {
            label for="device-name" { "What is this device called?" }
            input #device-name type="text" name="name" maxlength="40" required value="phone" autocomplete="off";
            div.buttons { button.primary type="submit" { "Pair" } }
        }
        section #pair-code hidden {
            p { "Type this code where " code { "anyhook ui --lan" } " runs:" }
            p.code-to-read { strong #code {} }
            p.hint {
                "You are asked for the fingerprint of the certificate, too. Read it in this "
                "browser's own view of the certificate; a page could show anything."
            }
        }
        p #pair-state role="status" {}
    };
    layout::bare_for_device("Pair this device", &content)
}

/// A device has used the link.
pub async fn arrive(
    State(app): State<Arc<App>>,
    Body(arrival): Body<Arrival>,
) -> Result<Response, PageError> {
    let ticket = app.pairings.arrive(&arrival, Instant::now())?;
    Ok(Json(json!({ "ticket": ticket.text() })).into_response())
}

/// Asks whether a device was let in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    ticket: String,
}

/// Tells a device whether it was let in, and gives it its cookie.
pub async fn finish(
    State(app): State<Arc<App>>,
    Body(Finish { ticket }): Body<Finish>,
) -> Result<Response, PageError> {
    let found = app.pairings.finish(&Secret::received(&ticket), PATIENCE).await?;
    let Some((device, session)) = found else {
        return Ok(Json(json!({ "state": "waiting" })).into_response());
    };
    let cookie = device_cookie_line(session.text());
    let told = Json(json!({ "state": "paired", "device": device.id }));
    Ok(([(header::SET_COOKIE, cookie)], told).into_response())
}

/// Gives a device a word for its next request.
pub async fn nonce(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, PageError> {
    let Some(device) = caller.device() else {
        return Err(PageError::bad_request("only devices sign what they send"));
    };
    let nonce = app.nonces().give(&device.id)?;
    Ok(Json(json!({ "device": device.id, "nonce": nonce.text() })).into_response())
}

/// Ends a device's own pairing.
pub async fn leave(app: &App, device: &Device) -> Result<(), PageError> {
    let (store, id) = (app.devices.clone(), device.id.clone());
    blocking(move || Ok(store.remove(&id)?)).await.map(drop)
}

impl From<DeviceError> for PageError {
    fn from(error: DeviceError) -> Self {
        let (status, code) = match &error {
            DeviceError::Unknown(_) => (StatusCode::NOT_FOUND, "unknown"),
            DeviceError::TooMany => (StatusCode::CONFLICT, "too_many"),
            DeviceError::NoRandom => (StatusCode::INTERNAL_SERVER_ERROR, "no_random"),
            DeviceError::File(..) => (StatusCode::INTERNAL_SERVER_ERROR, "unreadable"),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<PairingError> for PageError {
    fn from(error: PairingError) -> Self {
        let (status, code) = match error {
            PairingError::Name | PairingError::Key => (StatusCode::BAD_REQUEST, "bad_request"),
            PairingError::Store | PairingError::NoRandom => {
                (StatusCode::INTERNAL_SERVER_ERROR, "not_stored")
            }
            _ => (StatusCode::FORBIDDEN, "not_paired"),
        };
        Self::new(status, code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn only_this_machine_shows_a_button() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::devices::DeviceStore::new(folder.path().join("devices.json"));
        let (device, _) = store.add("<b>", "04", "ann", Timestamp::now()).unwrap();
        let session = Secret::random().unwrap();
        let browser = Caller::Browser { session, by: "ann".to_owned() };
        let shown = line(&browser, &device).into_string();
        assert!(shown.contains("&lt;b&gt;") && shown.contains("/remove"), "{shown}");
        let itself = Caller::Device { device: device.clone(), signature: None };
        let shown = line(&itself, &device).into_string();
        assert!(shown.contains("this device") && !shown.contains("/remove"), "{shown}");
    }
}
