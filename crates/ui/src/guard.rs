//! Who may send a request, and what every response says to the browser.
//!
//! | attack | what stops it |
//! |---|---|
//! | a page of another site sends a form (CSRF) | `SameSite=Strict`, `Origin`, `Sec-Fetch-Site`, and a word that only our pages contain |
//! | a name that now points to this machine (DNS rebinding) | `Host` must be ours |
//! | our page in a frame | `frame-ancestors 'none'` |
//! | text of an agent as markup or script (XSS) | pages escape it; scripts come from a file of ours only |
//! | a page of another site reads an answer | no CORS headers, `Cross-Origin-Resource-Policy` |

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Form, FromRequest, Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;

use crate::app::App;
use crate::error::PageError;
use crate::secret::Secret;
use crate::tokens::Scope;
use crate::views;

/// The cookie of a browser's session.
pub const COOKIE: &str = "anyhook_page";
/// The header, and the field of forms, that proves that a page of ours sent a request.
pub const CSRF_HEADER: HeaderName = HeaderName::from_static("x-csrf-token");
/// What the word of forms is derived for.
const CSRF: &str = "csrf";
/// A longer body is refused.
const BODY_LIMIT: usize = 256 * 1024;

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
}

impl Caller {
    /// Returns the name under which its answers are journaled.
    pub fn name(&self) -> String {
        match self {
            Self::Browser { by, .. } => format!("{by} on the page"),
            Self::Program { name, .. } => format!("token {name}"),
        }
    }

    /// Returns what it may do.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Browser { .. } => Scope::Answer,
            Self::Program { scope, .. } => *scope,
        }
    }

    /// Returns the word that its forms contain.
    pub fn csrf(&self) -> String {
        match self {
            Self::Browser { session, .. } => session.derived(CSRF),
            Self::Program { .. } => String::new(),
        }
    }
}

/// Lets a request through whose caller is known and may send it.
pub async fn check(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let answered = match admit(&app, request).await {
        Ok(request) => next.run(request).await,
        Err(Refused::Reload) => views::reload().into_response(),
        Err(Refused::Error(error)) if is_api => error.into_response(),
        Err(Refused::Error(error)) => views::failed(&error, None),
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

async fn admit(app: &App, request: Request) -> Result<Request, Refused> {
    let (mut parts, body) = request.into_parts();
    check_host(app, &parts)?;
    check_site(&parts)?;
    if is_open(parts.uri.path()) {
        return Ok(Request::from_parts(parts, Body::empty()));
    }
    let Some(caller) = caller(app, &parts.headers) else {
        let is_from_elsewhere = fetch_metadata(&parts.headers, "sec-fetch-site") != Some("none")
            && is_navigation(&parts)
            && fetch_metadata(&parts.headers, "sec-fetch-site") != Some("same-origin");
        return Err(if is_from_elsewhere { Refused::Reload } else { unknown_caller().into() });
    };
    let bytes = axum::body::to_bytes(body, BODY_LIMIT).await.map_err(|_| {
        let message = format!("the body is longer than {BODY_LIMIT} bytes, or incomplete");
        PageError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", message)
    })?;
    if !parts.method.is_safe() {
        may_change(app, &parts, &bytes, &caller).await?;
    }
    app.touch();
    parts.extensions.insert(caller);
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// What anyone may have: the link, and files that are the same for everyone.
fn is_open(path: &str) -> bool {
    path == "/enter" || path.starts_with("/assets/")
}

fn unknown_caller() -> PageError {
    let message = "this browser or program may not use the page";
    PageError::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
        .hint("anyhook ui opens it; anyhook ui token add NAME makes a token for a program")
}

fn check_host(app: &App, parts: &Parts) -> Result<(), PageError> {
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let named = parts.uri.authority().map(Authority::as_str);
    if host == Some(app.authority.as_str()) && named.is_none_or(|named| named == app.authority) {
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

/// Returns who sends a request. A token counts before a cookie.
fn caller(app: &App, headers: &HeaderMap) -> Option<Caller> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let secret = value.to_str().ok()?.strip_prefix("Bearer ")?;
        let token = app.tokens.find(&Secret::received(secret.trim()))?;
        return Some(Caller::Program { name: token.name, scope: token.scope });
    }
    let secret = Secret::received(cookie(headers)?);
    let session = app.sessions().find(&secret, Timestamp::now())?;
    Some(Caller::Browser { session: secret, by: session.by })
}

/// Returns the value of our cookie.
pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == COOKIE).map(|(_, value)| value.trim())
}

async fn may_change(
    app: &App,
    parts: &Parts,
    body: &Bytes,
    caller: &Caller,
) -> Result<(), PageError> {
    match caller {
        Caller::Program { scope: Scope::Answer, .. } => Ok(()),
        Caller::Program { name, .. } => {
            let message = format!("the token `{name}` is only for reading");
            Err(PageError::new(StatusCode::FORBIDDEN, "read_only", message))
        }
        Caller::Browser { session, .. } => {
            let origin = parts.headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
            let word = match parts.headers.get(CSRF_HEADER) {
                Some(word) => word.to_str().ok().map(str::to_owned),
                None => form_word(parts, body).await,
            };
            let is_ours = origin == Some(app.origin().as_str());
            if is_ours && word.is_some_and(|word| session.has_derived(CSRF, &word)) {
                return Ok(());
            }
            let message = "the request does not come from the page";
            Err(PageError::new(StatusCode::FORBIDDEN, "wrong_origin", message)
                .hint("reload the page and try again"))
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
