//! Where a server is.

use std::fmt;

use hyper::Uri;

use crate::agent::ModelError;

/// A base URL, taken apart. It shows neither a person nor a query: secrets may be in them.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) encrypted: bool,
    /// As it is written in a URL: an IPv6 address has brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// The path of chat completions, with the base's query.
    pub(super) target: String,
    base_path: String,
    explicit_port: bool,
}

impl Address {
    pub(super) fn parse(base_url: &str) -> Result<Self, ModelError> {
        // The text itself is not repeated: there may be a password in it.
        let wrong = |why: &str| ModelError::Unreachable(format!("the base URL {why}"));
        let uri: Uri = base_url.trim().parse().map_err(|_| wrong("is not a URL"))?;
        let encrypted = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong("must begin with https:// or http://")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("must not name a user; use `api_key` or `header`"));
        }
        let host = authority.host();
        if host.is_empty() {
            return Err(wrong("names no host"));
        }
        let base_path = uri.path().trim_end_matches('/');
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        Ok(Self {
            encrypted,
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(if encrypted { 443 } else { 80 }),
            target: format!("{base_path}/chat/completions{query}"),
            base_path: base_path.to_owned(),
            explicit_port: authority.port_u16().is_some(),
        })
    }

    /// Returns the host as a resolver takes it.
    pub(super) fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Returns the value of the `Host` header.
    pub(super) fn authority(&self) -> String {
        if self.explicit_port { format!("{}:{}", self.host, self.port) } else { self.host.clone() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.encrypted { "https" } else { "http" };
        write!(formatter, "{scheme}://{}{}", self.authority(), self.base_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_taken_apart() {
        let address = Address::parse("https://example.org/v1/").unwrap();
        assert_eq!(address.to_string(), "https://example.org/v1");
        assert_eq!((address.host(), address.port), ("example.org", 443));
        assert_eq!(address.target, "/v1/chat/completions");
        assert_eq!(address.authority(), "example.org");
    }

    #[test]
    fn ports_queries_and_ipv6_are_known() {
        let address = Address::parse("http://[::1]:8080/a?api-version=1").unwrap();
        assert_eq!((address.host(), address.port), ("::1", 8080));
        assert_eq!(address.target, "/a/chat/completions?api-version=1");
        assert_eq!(address.authority(), "[::1]:8080");
        assert_eq!(address.to_string(), "http://[::1]:8080/a", "the query stays hidden");
        assert_eq!(Address::parse("http://localhost").unwrap().target, "/chat/completions");
    }

    #[test]
    fn what_is_no_base_url_is_refused_without_repeating_it() {
        for url in ["", "secret", "/v1", "ftp://secret", "http://", "https://me:secret@host/v1"] {
            let error = Address::parse(url).err().map(|error| error.to_string());
            let error = error.unwrap_or_else(|| panic!("{url} was taken"));
            assert!(error.contains("the base URL") && !error.contains("secret"), "{error}");
        }
    }
}
