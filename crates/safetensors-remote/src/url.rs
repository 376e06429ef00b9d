//! URLs of HTTP.

use std::fmt;

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
pub struct Url {
    is_https: bool,
    /// In lower case; an IPv6 address has its brackets.
    host: String,
    port: u16,
    /// Begins with a slash.
    path: String,
    query: Option<String>,
}

const HTTP: u16 = 80;
const HTTPS: u16 = 443;

impl Url {
    /// Parses an absolute URL. Bytes that a URL cannot contain become percent-encoded, and a fragment is
    /// dropped.
    ///
    /// # Errors
    /// The reason why it is invalid.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = text.split_once("://").ok_or("it is not an absolute URL")?;
        let is_https = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err("only http, https and hf are supported"),
        };
        let rest = rest.split('#').next().unwrap_or(rest);
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (host, port) = parse_authority(authority)?;
        let port = port.unwrap_or(if is_https { HTTPS } else { HTTP });
        let (path, query) = split_target(target)?;
        Ok(Self { is_https, host, port, path, query })
    }

    /// Resolves a reference relative to this URL, as in the `Location` of a redirect.
    ///
    /// # Errors
    /// The reason why the result is invalid.
    pub fn join(&self, reference: &str) -> Result<Self, &'static str> {
        let reference = reference.split('#').next().unwrap_or(reference);
        if has_scheme(reference) {
            return Self::parse(reference);
        }
        if let Some(rest) = reference.strip_prefix("//") {
            return Self::parse(&format!("{}://{rest}", self.scheme()));
        }
        let target = match reference.as_bytes() {
            [] => return Ok(self.clone()),
            [b'?', ..] => format!("{}{reference}", self.path),
            [b'/', ..] => reference.to_owned(),
            _ => format!("{}{reference}", self.directory()),
        };
        let (path, query) = split_target(&target)?;
        Ok(Self { path, query, ..self.clone() })
    }

    /// Returns the URL of another file in the same directory. The name is a path below it, and every byte
    /// that has a meaning in URLs is percent-encoded.
    pub fn sibling(&self, name: &str) -> Self {
        let path = format!("{}{}", self.directory(), encode(name, is_plain_or_slash));
        Self { path, query: self.query.clone(), ..self.clone() }
    }

    /// Returns whether both have the same scheme, host and port.
    pub fn has_origin_of(&self, other: &Self) -> bool {
        (self.is_https, &self.host, self.port) == (other.is_https, &other.host, other.port)
    }

    /// Returns whether the scheme is `https`.
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// Returns the host, in lower case.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the path, which begins with a slash.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the complete URL, with its query. The query may contain a secret.
    pub fn as_text(&self) -> String {
        let query = self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{query}", self.without_query())
    }

    fn without_query(&self) -> String {
        let usual = if self.is_https { HTTPS } else { HTTP };
        let port = if self.port == usual { String::new() } else { format!(":{}", self.port) };
        format!("{}://{}{port}{}", self.scheme(), self.host, self.path)
    }

    fn scheme(&self) -> &'static str {
        if self.is_https { "https" } else { "http" }
    }

    /// The path up to its last slash.
    fn directory(&self) -> &str {
        self.path.rfind('/').map_or("/", |at| self.path.get(..=at).unwrap_or("/"))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = if self.query.is_some() { "?…" } else { "" };
        write!(f, "{}{query}", self.without_query())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Percent-encodes a text for one segment of a path.
pub(crate) fn encode_segment(text: &str) -> String {
    encode(text, is_plain)
}

/// Percent-encodes a path.
pub(crate) fn encode_path(text: &str) -> String {
    encode(text, is_plain_or_slash)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn is_plain_or_slash(byte: u8) -> bool {
    is_plain(byte) || byte == b'/'
}

fn encode(text: &str, is_kept: fn(u8) -> bool) -> String {
    let encode = |byte: u8| if is_kept(byte) { char::from(byte).into() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

/// Whether a reference begins with a scheme: letters and a colon before any slash.
fn has_scheme(reference: &str) -> bool {
    let end = reference.find([':', '/', '?']).filter(|&at| reference.as_bytes().get(at) == Some(&b':'));
    let scheme = end.and_then(|end| reference.get(..end)).unwrap_or("");
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    scheme.starts_with(|letter: char| letter.is_ascii_alphabetic()) && scheme.chars().all(is_part)
}

fn parse_authority(authority: &str) -> Result<(String, Option<u16>), &'static str> {
    if authority.contains('@') {
        return Err("a user name or password in a URL is not supported");
    }
    let end_of_address = authority.rfind(']').map_or(0, |at| at + 1);
    let colon = authority.get(end_of_address..).and_then(|rest| rest.find(':'));
    let (host, port) = match colon {
        Some(at) => authority.split_at(end_of_address + at),
        None => (authority, ""),
    };
    let port = match port.strip_prefix(':').unwrap_or("") {
        "" => None,
        digits if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            Some(digits.parse().map_err(|_| "its port is greater than 65535")?)
        }
        _ => return Err("its port is not a number"),
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_valid = match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)),
    };
    match (host, is_valid) {
        ("", _) => Err("it has no host"),
        (_, false) => Err("its host has characters that are not allowed"),
        _ => Ok((host.to_ascii_lowercase(), port)),
    }
}

/// Splits a path and a query, encodes what cannot be sent, and resolves `.` and `..`.
fn split_target(target: &str) -> Result<(String, Option<String>), &'static str> {
    if target.bytes().any(|byte| byte < b' ' || byte == 0x7F) {
        return Err("it has a control character");
    }
    let is_kept = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    let target = encode(target, is_kept);
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (target.as_str(), None),
    };
    Ok((without_dots(path), query))
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                kept.extend(is_last.then_some(""));
            }
            _ => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_normalised() {
        for (text, expected) in [
            ("http://h", "http://h/"),
            ("HTTP://H:80/a", "http://h/a"),
            ("https://h:443/a/../b/./c", "https://h/b/c"),
            ("https://h:8443/a b/é", "https://h:8443/a%20b/%C3%A9"),
            ("http://h?q=1#f", "http://h/?q=1"),
            ("http://h/a#f", "http://h/a"),
            ("http://[::1]:8080/a/..", "http://[::1]:8080/"),
            ("http://h/../../a/..", "http://h/"),
            ("http://h:/a%2Fb", "http://h/a%2Fb"),
        ] {
            assert_eq!(Url::parse(text).unwrap().as_text(), expected, "{text}");
        }
    }

    #[test]
    fn invalid_urls_have_a_reason() {
        for (text, reason) in [
            ("/a", "absolute"),
            ("ftp://h/a", "only http, https and hf"),
            ("http:///a", "no host"),
            ("http://user:secret@h/a", "password"),
            ("http://h:x/", "not a number"),
            ("http://h:65536/", "greater than 65535"),
            ("http://h\u{e9}/", "not allowed"),
            ("http://[::1/", "not a number"),
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
            ("http://o/x", "http://o/x"),
            ("//o/x", "https://o/x"),
            ("/x?y", "https://h:1/x?y"),
            ("x", "https://h:1/a/x"),
            ("../x", "https://h:1/x"),
            ("?y", "https://h:1/a/b?y"),
            ("", "https://h:1/a/b?q"),
            ("x/y:z", "https://h:1/a/x/y:z"),
        ] {
            assert_eq!(base.join(reference).unwrap().as_text(), expected, "{reference}");
        }
        assert!(base.join("data:text/plain,a").is_err());
    }

    #[test]
    fn a_sibling_cannot_leave_its_directory() {
        let base = Url::parse("https://h/a/index.json?token=1").unwrap();
        assert_eq!(base.sibling("m 1.st").as_text(), "https://h/a/m%201.st?token=1");
        assert_eq!(base.sibling("%2e%2e/x").as_text(), "https://h/a/%252e%252e/x?token=1");
        assert_eq!(base.sibling("a?b#c").as_text(), "https://h/a/a%3Fb%23c?token=1");
    }
}
