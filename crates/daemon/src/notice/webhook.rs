//! Sends a notice as a signed request to a server.
//!
//! The server recognizes a repeated notice by `X-Anyhook-Notice`, and that it is genuine by
//! `X-Anyhook-Signature`: `sha256=` and the HMAC-SHA256 of `TIMESTAMP.BODY` under the shared
//! secret, in hexadecimal digits.

use std::path::Path;
use std::time::Duration;

use anyhook_engine::digest::hex;
use anyhook_http::Address;
use anyhook_model::Notice;
use anyhook_model::notice::{Channel, DeliveryResult};
use hyper::Method;
use ring::hmac;
use tokio::time::Instant;

use super::http::{self, Call, Http, Repeat};
use super::{secret_file, text};

/// Sends the notice to the server at `url`.
pub async fn send(
    url: &str,
    secret: Option<&Path>,
    notice: &Notice,
    limit: Duration,
) -> DeliveryResult {
    let deadline = Instant::now() + limit;
    let sent = match Post::prepare(url, secret, notice) {
        Ok(post) => post.send(deadline).await,
        Err(why) => Err(why),
    };
    match sent {
        Ok(()) => DeliveryResult::delivered(Channel::Webhook),
        Err(why) => DeliveryResult::failed(Channel::Webhook, text::line(&why, text::TITLE)),
    }
}

/// What is the same for every attempt.
struct Post {
    server: Address,
    key: Option<hmac::Key>,
    id: String,
    body: String,
}

impl Post {
    fn prepare(url: &str, secret: Option<&Path>, notice: &Notice) -> Result<Self, String> {
        let server = http::address("the webhook", url)?;
        let secret = secret.map(secret_file::read).transpose()?;
        let key = secret.map(|secret| hmac::Key::new(hmac::HMAC_SHA256, &secret));
        let body = serde_json::to_string(notice).map_err(|error| error.to_string())?;
        Ok(Self { server, key, id: notice.id.clone(), body })
    }

    async fn send(&self, deadline: Instant) -> Result<(), String> {
        let mut http = Http::default();
        http::with_retries(self.server.host(), deadline, Repeat::Freely, async || {
            http::judge(http.open(&self.call()).await?.status)
        })
        .await
    }

    fn call(&self) -> Call {
        let timestamp = jiff::Timestamp::now().as_second();
        let mut headers = vec![
            ("Content-Type", "application/json".to_owned()),
            ("X-Anyhook-Timestamp", timestamp.to_string()),
            ("X-Anyhook-Notice", self.id.clone()),
        ];
        let signature = self.key.as_ref().map(|key| signature(key, timestamp, &self.body));
        headers.extend(signature.map(|signature| ("X-Anyhook-Signature", signature)));
        let address = self.server.clone();
        Call { address, method: Method::POST, headers, body: self.body.clone() }
    }
}

fn signature(key: &hmac::Key, timestamp: i64, body: &str) -> String {
    let tag = hmac::sign(key, format!("{timestamp}.{body}").as_bytes());
    format!("sha256={}", hex(tag.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_the_one_that_others_compute() {
        // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac key
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"key");
        assert_eq!(
            signature(&key, 1_700_000_000, "{\"a\":1}"),
            "sha256=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03"
        );
    }
}
