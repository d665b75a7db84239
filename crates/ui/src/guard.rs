//! Who may send a request, and what every response says to the browser.
//!
//! | attack | what stops it |
//! |---|---|
//! | a page of another site sends a form (CSRF) | `SameSite=Strict`, `Origin`, `Sec-Fetch-Site`, and a word that only our pages contain |
//! | a name that now points to this machine (DNS rebinding) | `Host` must be ours |
//! | our page in a frame | `frame-ancestors 'none'` |
//! | text of an agent as markup or script (XSS) | pages escape it; scripts come from a file of ours only |
//! | a page of another site reads an answer | no CORS headers, `Cross-Origin-Resource-Policy` |
//! | a session, a token or a link of this machine, used from the network | each listener has its own |
//! | a device's cookie in other hands, or its request altered or repeated | the device signs each request |

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhook_model::approval_request::AnswerSignature;
use axum::body::{Body, Bytes};
use axum::extract::{Form, FromRequest, Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;

use crate::answered::NetworkRequest;
use crate::app::App;
use crate::devices::Device;
use crate::error::PageError;
use crate::listener::{Listener, Reach};
use crate::secret::Secret;
use crate::signed::{self, SignedRequest};
use crate::tokens::Scope;
use crate::views;

/// The cookie of a browser's session.
pub const COOKIE: &str = "anyhook_page";
/// The header, and the field of forms, that proves that a page of ours sent a request.
pub const CSRF_HEADER: HeaderName = HeaderName::from_static("x-csrf-token");
/// The cookie of a device. Browsers accept it only over TLS, for this host and all its paths.
pub const DEVICE_COOKIE: &str = "__Host-anyhook_device";
/// For how long a browser keeps a device's cookie, in seconds.
const DEVICE_COOKIE_LIFE: u32 = 90 * 24 * 60 * 60;
/// What the word of forms is derived for.
const CSRF: &str = "csrf";
/// A longer body is refused.
const BODY_LIMIT: usize = 256 * 1024;
/// A longer body of someone who is not let in yet is refused.
const STRANGER_LIMIT: usize = 4 * 1024;
/// How long a body may take to arrive.
const BODY_PATIENCE: Duration = Duration::from_secs(15);

/// What a listener needs to let someone in.
#[derive(Clone, Debug)]
pub struct Gate {
    /// The page.
    pub app: Arc<App>,
    /// The listener.
    pub listener: Listener,
}

/// Who sent a request.
#[derive(Clone, Debug)]
pub enum Caller {
    /// A browser that was let in.
    Browser {
        /// Its session.
        session: Secret,
        /// Who opened the page.
        by: String,
    },
    /// A program with a token.
    Program {
        /// The token's name.
        name: String,
        /// What the token is for.
        scope: Scope,
    },
    /// A paired device in the network.
    Device {
        /// The device.
        device: Device,
        /// Its signature of this request, checked; every request that changes something has one.
        signature: Option<AnswerSignature>,
    },
}

impl Caller {
    /// Returns the name under which its answers are journaled.
    pub fn name(&self) -> String {
        match self {
            Self::Browser { by, .. } => format!("{by} on the page"),
            Self::Program { name, .. } => format!("token {name}"),
            Self::Device { device, .. } => format!("{} (device)", device.name),
        }
    }

    /// Returns what it may do.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Browser { .. } | Self::Device { .. } => Scope::Answer,
            Self::Program { scope, .. } => *scope,
        }
    }

    /// Returns the word that its forms contain.
    pub fn csrf(&self) -> String {
        match self {
            Self::Browser { session, .. } => session.derived(CSRF),
            Self::Program { .. } | Self::Device { .. } => String::new(),
        }
    }

    /// Returns the device, if it is one.
    pub fn device(&self) -> Option<&Device> {
        match self {
            Self::Device { device, .. } => Some(device),
            Self::Browser { .. } | Self::Program { .. } => None,
        }
    }

    /// Returns the device's signature of this request.
    pub fn signature(&self) -> Option<&AnswerSignature> {
        match self {
            Self::Device { signature, .. } => signature.as_ref(),
            Self::Browser { .. } | Self::Program { .. } => None,
        }
    }
}

/// Lets a request through whose caller is known and may send it.
pub async fn check(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let from_network = gate.listener.is_for_devices().then(|| NetworkRequest::of(&request));
    let answered = match admit(&gate, request).await {
        Ok(request) => next.run(request).await,
        Err(Refused::Reload) => views::reload().into_response(),
        Err(Refused::Error(error)) if is_api => error.into_response(),
        Err(Refused::Error(error)) => views::failed(&error, None),
    };
    let answered = match from_network {
        Some(request) => request.finish(&gate.app, answered),
        None => answered,
    };
    with_headers(answered)
}

enum Refused {
    /// The browser comes from another site and has left its cookie there: it has to come again.
    Reload,
    Error(PageError),
}

impl From<PageError> for Refused {
    fn from(error: PageError) -> Self {
        Self::Error(error)
    }
}

async fn admit(gate: &Gate, request: Request) -> Result<Request, Refused> {
    let Gate { app, listener } = gate;
    let (mut parts, body) = request.into_parts();
    check_host(listener, &parts)?;
    check_site(&parts)?;
    if is_open(listener, parts.uri.path()) {
        let bytes = read_body(body, STRANGER_LIMIT).await?;
        return Ok(Request::from_parts(parts, Body::from(bytes)));
    }
    let Some(mut caller) = caller(gate, &parts.headers) else {
        let is_from_elsewhere = fetch_metadata(&parts.headers, "sec-fetch-site") != Some("none")
            && is_navigation(&parts)
            && fetch_metadata(&parts.headers, "sec-fetch-site") != Some("same-origin");
        return Err(if is_from_elsewhere {
            Refused::Reload
        } else {
            unknown_caller(listener).into()
        });
    };
    let limit = if listener.is_for_devices() { signed::BODY_LIMIT } else { BODY_LIMIT };
    let bytes = read_body(body, limit).await?;
    if !parts.method.is_safe() {
        may_change(gate, &parts, &bytes, &mut caller).await?;
    }
    app.used.now();
    if listener.is_for_devices() {
        app.devices_used.now();
    }
    parts.extensions.insert(caller);
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

async fn read_body(body: Body, limit: usize) -> Result<Bytes, PageError> {
    let read = tokio::time::timeout(BODY_PATIENCE, axum::body::to_bytes(body, limit)).await;
    read.ok().and_then(Result::ok).ok_or_else(|| {
        let message = format!("the body is longer than {limit} bytes, or incomplete");
        PageError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", message)
    })
}

/// What anyone may have: the link, and files that are the same for everyone.
fn is_open(listener: &Listener, path: &str) -> bool {
    let is_way_in = match listener.reach {
        Reach::ThisMachine => path == "/enter",
        Reach::Network => matches!(path, "/pair" | "/pair/finish"),
    };
    is_way_in || path.starts_with("/assets/")
}

fn unknown_caller(listener: &Listener) -> PageError {
    let (message, hint) = match listener.reach {
        Reach::ThisMachine => (
            "this browser or program may not use the page",
            "anyhook ui opens it; anyhook ui token add NAME makes a token for a program",
        ),
        Reach::Network => ("this device is not paired", "anyhook ui --lan"),
    };
    PageError::new(StatusCode::UNAUTHORIZED, "unauthorized", message).hint(hint)
}

fn check_host(listener: &Listener, parts: &Parts) -> Result<(), PageError> {
    let ours = listener.authority.as_str();
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let named = parts.uri.authority().map(Authority::as_str);
    if host == Some(ours) && named.is_none_or(|named| named == ours) {
        return Ok(());
    }
    let message = "this is not the host that the request names";
    Err(PageError::new(StatusCode::MISDIRECTED_REQUEST, "wrong_host", message))
}

/// Refuses what another site makes a browser send; a link to a page may be followed.
fn check_site(parts: &Parts) -> Result<(), PageError> {
    let site = fetch_metadata(&parts.headers, "sec-fetch-site");
    if matches!(site, None | Some("same-origin" | "none")) || is_navigation(parts) {
        return Ok(());
    }
    Err(PageError::new(StatusCode::FORBIDDEN, "wrong_origin", "another site sent this request"))
}

fn is_navigation(parts: &Parts) -> bool {
    parts.method == Method::GET
        && fetch_metadata(&parts.headers, "sec-fetch-mode") == Some("navigate")
        && fetch_metadata(&parts.headers, "sec-fetch-dest") == Some("document")
}

fn fetch_metadata<'headers>(headers: &'headers HeaderMap, name: &str) -> Option<&'headers str> {
    headers.get(name)?.to_str().ok()
}

/// Returns who sends a request. A token counts before a cookie. What counts at one listener does
/// not count at the other.
fn caller(gate: &Gate, headers: &HeaderMap) -> Option<Caller> {
    let app = &gate.app;
    if gate.listener.is_for_devices() {
        let secret = Secret::received(device_cookie(headers)?);
        let device = app.devices.find(&secret, Timestamp::now())?;
        return Some(Caller::Device { device, signature: None });
    }
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let secret = value.to_str().ok()?.strip_prefix("Bearer ")?;
        let token = app.tokens.find(&Secret::received(secret.trim()))?;
        return Some(Caller::Program { name: token.name, scope: token.scope });
    }
    let secret = Secret::received(cookie(headers)?);
    let session = app.sessions().find(&secret, Timestamp::now())?;
    Some(Caller::Browser { session: secret, by: session.by })
}

/// Returns the value of the cookie of this machine's browsers.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    named_cookie(headers, COOKIE)
}

/// Returns the value of a device's cookie.
pub fn device_cookie(headers: &HeaderMap) -> Option<&str> {
    named_cookie(headers, DEVICE_COOKIE)
}

/// Returns the line that gives a device its cookie.
pub fn device_cookie_line(value: &str) -> String {
    format!(
        "{DEVICE_COOKIE}={value}; Path=/; Secure; HttpOnly; SameSite=Strict; \
         Max-Age={DEVICE_COOKIE_LIFE}"
    )
}

fn named_cookie<'headers>(headers: &'headers HeaderMap, cookie: &str) -> Option<&'headers str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == cookie).map(|(_, value)| value.trim())
}

async fn may_change(
    gate: &Gate,
    parts: &Parts,
    body: &Bytes,
    caller: &mut Caller,
) -> Result<(), PageError> {
    let origin = parts.headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let is_ours = origin == Some(gate.listener.origin().as_str());
    let elsewhere = || {
        let message = "the request does not come from the page";
        PageError::new(StatusCode::FORBIDDEN, "wrong_origin", message)
            .hint("reload the page and try again")
    };
    match caller {
        Caller::Device { device, signature } => {
            if !is_ours {
                return Err(elsewhere());
            }
            let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
            let (method, headers) = (&parts.method, &parts.headers);
            let request = SignedRequest { method, path, headers, body };
            *signature = Some(request.check(device, &mut gate.app.nonces(), Instant::now())?);
            Ok(())
        }
        Caller::Program { scope: Scope::Answer, .. } => Ok(()),
        Caller::Program { name, .. } => {
            let message = format!("the token `{name}` is only for reading");
            Err(PageError::new(StatusCode::FORBIDDEN, "read_only", message))
        }
        Caller::Browser { session, .. } => {
            let word = match parts.headers.get(CSRF_HEADER) {
                Some(word) => word.to_str().ok().map(str::to_owned),
                None => form_word(parts, body).await,
            };
            if is_ours && word.is_some_and(|word| session.has_derived(CSRF, &word)) {
                return Ok(());
            }
            Err(elsewhere())
        }
    }
}

#[derive(serde::Deserialize)]
struct FormWord {
    csrf: String,
}

/// Returns the word that a form contains.
async fn form_word(parts: &Parts, body: &Bytes) -> Option<String> {
    let request = Request::from_parts(parts.clone(), Body::from(body.clone()));
    let Form(form) = Form::<FormWord>::from_request(request, &()).await.ok()?;
    Some(form.csrf)
}

/// The headers of every response.
const HEADERS: [(HeaderName, &str); 9] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
         require-trusted-types-for 'script'; trusted-types anyhook",
    ),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Not `no-referrer`: then a form's `Origin` is `null`.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
    (header::CACHE_CONTROL, "no-store"),
];

fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        // What assets say about their own life stays.
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
