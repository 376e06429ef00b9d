//! URLs of HTTP.

use std::fmt;
use url::{ParseError, Position};

/// An `http` or `https` URL. Its `Display` leaves out the query, which may contain a signature.
///
/// ```
/// use safetensors_remote::Url;
///
/// let url = Url::parse("https://example.org/models/a.safetensors?key=secret")?;
/// assert_eq!(url.to_string(), "https://example.org/models/a.safetensors?…");
/// assert_eq!(url.join("b.safetensors")?.as_text(), "https://example.org/models/b.safetensors");
/// # Ok::<(), &'static str>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Url(url::Url);

impl Url {
    /// Parses an absolute URL. Bytes that a URL cannot contain become percent-encoded, and a fragment is
    /// dropped.
    ///
    /// # Errors
    /// The reason why it is invalid.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = text.split_once("://").ok_or("it is not an absolute URL")?;
        if !["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme)) {
            return Err("only http, https and hf are supported");
        }
        // The standard would take the first segment of the path for the host.
        if rest.starts_with(['/', '\\']) {
            return Err("it has no host");
        }
        Self::checked(url::Url::parse(text), text)
    }

    /// Resolves a reference relative to this URL, as in the `Location` of a redirect.
    ///
    /// # Errors
    /// The reason why the result is invalid.
    pub fn join(&self, reference: &str) -> Result<Self, &'static str> {
        match url::Url::parse(reference) {
            Err(ParseError::RelativeUrlWithoutBase) => Self::checked(self.0.join(reference), reference),
            _ => Self::parse(reference),
        }
    }

    fn checked(parsed: Result<url::Url, ParseError>, text: &str) -> Result<Self, &'static str> {
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("it has a control character");
        }
        let mut url = parsed.map_err(reason_of)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a user name or password in a URL is not supported");
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// Returns the URL of another file in the same directory. The name is a path below it, and every byte
    /// that has a meaning in URLs is percent-encoded.
    pub fn sibling(&self, name: &str) -> Self {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop().extend(name.split('/'));
        }
        Self(url)
    }

    /// Returns the URL with these segments after its path, each percent-encoded.
    pub(crate) fn below<'s>(&self, segments: impl Iterator<Item = &'s str>) -> Self {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        Self(url)
    }

    /// Returns whether both have the same scheme, host and port.
    pub fn has_origin_of(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    /// Returns whether the scheme is `https`.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Returns the host, in lower case.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or("")
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(0)
    }

    /// Returns the path, which begins with a slash.
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// Returns the complete URL, with its query. The query may contain a secret.
    pub fn as_text(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0[..Position::AfterPath])?;
        f.write_str(if self.0.query().is_some() { "?…" } else { "" })
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn reason_of(error: ParseError) -> &'static str {
    match error {
        ParseError::EmptyHost => "it has no host",
        ParseError::InvalidPort => "its port is not a number up to 65535",
        _ => "its host has characters that are not allowed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed() {
        for (text, expected) in [
            ("HTTP://H:80/a/../b c?q=1#f", "http://h/b%20c?q=1"),
            ("https://h:8443/é%2Fb", "https://h:8443/%C3%A9%2Fb"),
            ("http://[::1]:8080", "http://[::1]:8080/"),
            ("http://h\u{e9}/", "http://xn--h-bga/"),
        ] {
            assert_eq!(Url::parse(text).unwrap().as_text(), expected, "{text}");
        }
    }

    #[test]
    fn invalid_urls_have_a_reason() {
        for (text, reason) in [
            ("/a", "absolute"),
            ("http:h/a", "absolute"),
            ("ftp://h/a", "only http, https and hf"),
            ("http://", "no host"),
            ("http:///a", "no host"),
            ("http://user:secret@h/a", "password"),
            ("http://h:x/", "not a number up to 65535"),
            ("http://h:65536/a:b", "not a number up to 65535"),
            ("http://h<x/", "not allowed"),
            ("http://[::x]/", "not allowed"),
            ("http://h/a\r\nX: y", "control character"),
        ] {
            assert!(Url::parse(text).unwrap_err().contains(reason), "{text}");
        }
    }

    #[test]
    fn references_are_resolved() {
        let base = Url::parse("https://h:1/a/b?q").unwrap();
        for (reference, expected) in [
            ("http://o/x#f", Ok("http://o/x")),
            ("//o/x", Ok("https://o/x")),
            ("../x/y:z?p", Ok("https://h:1/x/y:z?p")),
            ("", Ok("https://h:1/a/b?q")),
            ("//user:secret@o/x", Err("a user name or password in a URL is not supported")),
            ("//o:x/", Err("its port is not a number up to 65535")),
            ("x\r\n", Err("it has a control character")),
            ("data:text/plain,a", Err("it is not an absolute URL")),
        ] {
            let joined = base.join(reference);
            assert_eq!(joined.as_ref().map(Url::as_text), expected.as_ref().map(|url| *url), "{reference:?}");
        }
    }

    #[test]
    fn a_sibling_cannot_leave_its_directory() {
        let base = Url::parse("https://h/a/index.json?token=1").unwrap();
        assert_eq!(base.to_string(), "https://h/a/index.json?…");
        assert_eq!(base.sibling("m 1.st").as_text(), "https://h/a/m%201.st?token=1");
        assert_eq!(base.sibling("%2e%2e/x").as_text(), "https://h/a/%252e%252e/x?token=1");
        assert_eq!(base.sibling("a?b#c").as_text(), "https://h/a/a%3Fb%23c?token=1");
    }
}
