//! The address of an HTTP server, parsed from a URL.

use std::fmt;
use std::net::IpAddr;

use hyper::Uri;

/// A parsed URL. `Display` and `Debug` omit the query: it may contain secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    encrypted: bool,
    /// As a resolver expects it: an IPv6 address without brackets.
    host: String,
    port: u16,
    authority: String,
    path: String,
    query: Option<String>,
    stays_here: bool,
}

/// What is wrong with a URL, without repeating it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It cannot be parsed.
    #[error("is not a URL")]
    NotAUrl,
    /// Its scheme is not supported.
    #[error("must start with https:// or http://")]
    Scheme,
    /// It has no host.
    #[error("has no host")]
    NoHost,
    /// It contains a user, and perhaps a password.
    #[error("must not contain a user name")]
    User,
    /// It is unencrypted and leads to another machine.
    #[error("uses http://, which is only allowed for this machine; use https://")]
    NotEncrypted,
}

impl Address {
    /// Parses a URL. Unencrypted connections may go to any machine.
    pub fn parse(url: &str) -> Result<Self, AddressError> {
        let uri: Uri = url.parse().map_err(|_| AddressError::NotAUrl)?;
        let encrypted = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(AddressError::Scheme),
        };
        let authority = uri.authority().ok_or(AddressError::NoHost)?;
        if authority.as_str().contains('@') {
            return Err(AddressError::User);
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(AddressError::NoHost);
        }
        Ok(Self {
            encrypted,
            host,
            port: authority.port_u16().unwrap_or(if encrypted { 443 } else { 80 }),
            authority: authority.as_str().to_owned(),
            path: uri.path().to_owned(),
            query: uri.query().map(ToOwned::to_owned),
            stays_here: false,
        })
    }

    /// Parses a URL. Unencrypted connections stay on this machine: checked here, and again for
    /// whatever the host name resolves to ([`connect`](crate::connect)).
    pub fn parse_encrypted_or_local(url: &str) -> Result<Self, AddressError> {
        let address = Self::parse(url)?;
        let is_here = address.host.parse::<IpAddr>().map_or_else(
            |_| address.host.eq_ignore_ascii_case("localhost"),
            |address| address.is_loopback(),
        );
        if !address.encrypted && !is_here {
            return Err(AddressError::NotEncrypted);
        }
        Ok(Self { stays_here: !address.encrypted, ..address })
    }

    /// Appends a part to the path, before the query.
    pub fn join(mut self, part: &str) -> Self {
        self.path = format!("{}/{part}", self.path.trim_end_matches('/'));
        self
    }

    /// Returns whether the server uses TLS.
    pub fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// Returns the host as a resolver expects it.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the value of the `Host` header.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns path and query, as in a request line.
    pub fn target(&self) -> String {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        match &self.query {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        }
    }

    pub(crate) fn stays_here(&self) -> bool {
        self.stays_here
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.encrypted { "https" } else { "http" };
        write!(formatter, "{scheme}://{}{}", self.authority, self.path.trim_end_matches('/'))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let address = Address::parse("https://example.com/hook?to=me").unwrap();
        assert_eq!((address.host(), address.port()), ("example.com", 443));
        assert_eq!(address.target(), "/hook?to=me");
        assert!(address.is_encrypted());
        let address = Address::parse("http://[::1]:8080").unwrap();
        assert_eq!((address.host(), address.port()), ("::1", 8080));
        assert_eq!((address.authority(), address.target().as_str()), ("[::1]:8080", "/"));
        assert!(!address.is_encrypted());
    }

    #[test]
    fn a_part_is_added_to_the_path() {
        for (url, target) in [
            ("https://example.org/v1/", "/v1/chat/completions"),
            ("http://[::1]:8080/a?api-version=1", "/a/chat/completions?api-version=1"),
            ("http://localhost", "/chat/completions"),
        ] {
            assert_eq!(Address::parse(url).unwrap().join("chat/completions").target(), target);
        }
    }

    #[test]
    fn a_query_is_not_shown() {
        let address = Address::parse("http://[::1]:8080/a?key=secret").unwrap();
        assert_eq!(address.to_string(), "http://[::1]:8080/a");
        assert_eq!(format!("{address:?}"), "Address(http://[::1]:8080/a)");
        assert_eq!(
            Address::parse("https://example.org/v1/").unwrap().to_string(),
            "https://example.org/v1"
        );
    }

    #[test]
    fn what_is_not_encrypted_stays_on_this_machine() {
        let parse = Address::parse_encrypted_or_local;
        for url in ["http://localhost/", "http://127.0.0.1:9/", "http://127.8.8.8", "http://[::1]/"]
        {
            assert!(parse(url).unwrap().stays_here(), "{url}");
        }
        for url in ["http://example.com", "http://10.0.0.1/", "http://localhost.example.com/"] {
            assert_eq!(parse(url), Err(AddressError::NotEncrypted), "{url}");
            assert!(!Address::parse(url).unwrap().stays_here(), "{url}");
        }
        assert!(!parse("https://example.com").unwrap().stays_here());
    }

    #[test]
    fn what_is_no_url_is_refused_without_repeating_it() {
        for (url, why) in [
            ("", AddressError::NotAUrl),
            ("secret", AddressError::Scheme),
            ("/v1", AddressError::Scheme),
            ("ftp://secret", AddressError::Scheme),
            ("http://", AddressError::NotAUrl),
            ("https:///x", AddressError::NotAUrl),
            ("https://me:secret@host/v1", AddressError::User),
        ] {
            assert_eq!(Address::parse(url), Err(why), "{url}");
            assert!(!why.to_string().contains("secret"));
        }
    }
}
