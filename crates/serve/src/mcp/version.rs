//! Versions of the protocol, and what is known in which.

use anyhook_model::json::Object;
use serde_json::{Value, json};

use super::answer::{self, ErrorCode, RpcError};

/// The versions that begin with `initialize`, oldest first.
pub const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The version in which each request says everything about itself.
pub const MODERN: &str = "2026-07-28";
/// The one version in which several messages may be sent as an array.
pub const WITH_BATCHES: &str = "2025-03-26";

/// The keys of `_meta` in [`MODERN`].
pub const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// Returns the index in [`HANDSHAKES`] for a client that asks for a version: that version, or the
/// newest, with which a client may or may not go on.
pub fn settle(asked: &str) -> usize {
    HANDSHAKES.iter().position(|known| *known == asked).unwrap_or(HANDSHAKES.len() - 1)
}

/// Returns every version, the newest first.
pub fn supported() -> Value {
    [MODERN].into_iter().chain(HANDSHAKES.into_iter().rev()).collect()
}

/// How a request is to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// As after `initialize`; the index in [`HANDSHAKES`].
    Handshake(usize),
    /// As in [`MODERN`].
    Modern,
}

impl Era {
    /// Returns the era of a request; `settled` is that of requests that do not say.
    pub fn of(params: Option<&Object>, settled: usize) -> Result<Self, RpcError> {
        let meta = params.and_then(|params| params.get("_meta")).and_then(Value::as_object);
        let Some((meta, version)) = meta.and_then(|meta| Some((meta, meta.get(VERSION_KEY)?)))
        else {
            return Ok(Self::Handshake(settled));
        };
        let Some(asked) = version.as_str() else { return Err(Self::missing_version()) };
        if !meta.get(CAPABILITIES_KEY).is_some_and(Value::is_object) {
            let what = format!("`_meta` must have an object `{CAPABILITIES_KEY}`");
            return Err(RpcError::invalid_params(&what));
        }
        if asked == MODERN {
            return Ok(Self::Modern);
        }
        let data = json!({"supported": supported(), "requested": asked});
        Err(RpcError {
            data: Some(Box::new(data)),
            ..RpcError::new(ErrorCode::UNSUPPORTED_VERSION, "Unsupported protocol version")
        })
    }

    /// Returns the error of a request that must say its version and does not.
    pub fn missing_version() -> RpcError {
        RpcError::invalid_params(&format!("`_meta` must have a string `{VERSION_KEY}`"))
    }

    /// Returns whether a result may have `structuredContent`, and a tool a title and a schema of it.
    pub fn has_structured_results(self) -> bool {
        match self {
            Self::Handshake(index) => HANDSHAKES[index] >= "2025-06-18",
            Self::Modern => true,
        }
    }

    /// Removes from a tool what this version does not know.
    pub fn leave_out_unknown(self, tool: &mut Object) {
        if !self.has_structured_results() {
            tool.retain(|key, _| key != "title" && key != "outputSchema");
        }
        if self == Self::Handshake(0) {
            tool.retain(|key, _| key != "annotations");
        }
    }

    /// Adds to a result what this version requires.
    pub fn complete(self, mut result: Object) -> Value {
        if self == Self::Modern {
            result.insert("resultType".to_owned(), "complete".into());
            result.insert("_meta".to_owned(), json!({SERVER_KEY: answer::server_info()}));
        }
        Value::Object(result)
    }

    /// Like [`complete`](Self::complete), for a result that everyone may keep for a while.
    pub fn cacheable(self, mut result: Object, keeps_ms: u64) -> Value {
        if self == Self::Modern {
            result.insert("ttlMs".to_owned(), keeps_ms.into());
            result.insert("cacheScope".to_owned(), "public".into());
        }
        self.complete(result)
    }
}
