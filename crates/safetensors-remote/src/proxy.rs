//! Which proxy a request takes.

use crate::url::Url;
use std::fmt;
use ureq::{Proxy, ProxyProtocol};

/// Proxies for `http` and `https`, and the hosts that need none. Its `Debug` shows no password.
///
/// For `https` a proxy is asked for a tunnel (`CONNECT`), so that it sees neither the URL nor the token. The
/// blocking client does so for `http`, too, which a proxy may reject.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// The proxy for `http` URLs: `http://[user:password@]host:port`.
    pub http: Option<String>,
    /// The proxy for `https` URLs.
    pub https: Option<String>,
    /// Hosts without a proxy, separated by commas: a name includes its subdomains, a leading dot is allowed,
    /// `:port` restricts it to a port, and `*` means all.
    pub no_proxy: String,
}

impl Proxies {
    /// Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`; names in lower case have priority.
    /// `HTTP_PROXY` in upper case is ignored in CGI programs, where a client can set it.
    pub fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let either = |name: &str| get(&name.to_ascii_lowercase()).or_else(|| get(name));
        let is_cgi = get("REQUEST_METHOD").is_some();
        let http = if is_cgi { get("http_proxy") } else { either("HTTP_PROXY") };
        let all = || either("ALL_PROXY");
        Self {
            http: http.or_else(all).map(with_scheme),
            https: either("HTTPS_PROXY").or_else(all).map(with_scheme),
            no_proxy: either("NO_PROXY").unwrap_or_default(),
        }
    }

    /// Returns the proxy for a URL.
    pub fn proxy_for(&self, url: &Url) -> Option<&str> {
        let proxy = if url.is_https() { &self.https } else { &self.http };
        proxy.as_deref().filter(|_| !self.is_direct(url))
    }

    /// Checks that each proxy can be used, before a request would silently take another way.
    ///
    /// # Errors
    /// The address of the proxy that is not one of HTTP, without its password.
    pub(crate) fn check(&self) -> Result<(), String> {
        let is_http = |proxy: &&String| {
            let protocol = Proxy::new(proxy).map(|proxy| proxy.protocol());
            matches!(protocol, Ok(ProxyProtocol::Http | ProxyProtocol::Https))
        };
        let mut proxies = [&self.http, &self.https].into_iter().flatten();
        proxies.find(|proxy| !is_http(proxy)).map_or(Ok(()), |proxy| Err(without_password(proxy)))
    }

    fn is_direct(&self, url: &Url) -> bool {
        let entries = self.no_proxy.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        entries.into_iter().any(|entry| matches(&entry.to_ascii_lowercase(), url))
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies")
            .field("http", &self.http.as_deref().map(without_password))
            .field("https", &self.https.as_deref().map(without_password))
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

fn with_scheme(proxy: String) -> String {
    let proxy = proxy.trim();
    if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") }
}

/// Leaves out all that can be a name and a password, also of an address that is no URL.
fn without_password(proxy: &str) -> String {
    let (scheme, _) = proxy.split_once("://").unwrap_or_default();
    proxy.rsplit_once('@').map_or(proxy.to_owned(), |(_, host)| format!("{scheme}://…@{host}"))
}

fn matches(entry: &str, url: &Url) -> bool {
    if entry == "*" {
        return true;
    }
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (name, port) = match entry.rsplit_once(':') {
        Some((name, port)) if is_port(port) && (!name.contains(':') || name.ends_with(']')) => {
            (name, port.parse().ok())
        }
        _ => (entry, None),
    };
    let name = name.trim_start_matches("*.").trim_start_matches('.');
    let host = url.host().trim_start_matches('[').trim_end_matches(']');
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let is_below = host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !name.is_empty() && is_below && port.is_none_or(|port: u16| port == url.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Proxies {
        Proxies::from_variables(&|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_select_the_proxy() {
        let url = |text| Url::parse(text).unwrap();
        for (variables, address, expected) in [
            (&[("HTTP_PROXY", "http://p:1")][..], "http://h/", Some("http://p:1")),
            (&[("HTTP_PROXY", "http://p:1")], "https://h/", None),
            (&[("https_proxy", "p:1"), ("HTTPS_PROXY", "q:1")], "https://h/", Some("http://p:1")),
            (&[("ALL_PROXY", "http://p:1")], "https://h/", Some("http://p:1")),
            (&[("HTTP_PROXY", "http://p:1"), ("REQUEST_METHOD", "GET")], "http://h/", None),
            (&[("http_proxy", "p"), ("REQUEST_METHOD", "GET")], "http://h/", Some("http://p")),
            (&[("HTTP_PROXY", "p"), ("NO_PROXY", "a, h")], "http://h/", None),
            (&[("HTTP_PROXY", "p"), ("NO_PROXY", "h")], "http://sub.h/", None),
            (&[("HTTP_PROXY", "p"), ("NO_PROXY", ".h")], "http://sub.h/", None),
            (&[("HTTP_PROXY", "p"), ("NO_PROXY", "h")], "http://oh/", Some("http://p")),
            (&[("HTTP_PROXY", "p"), ("no_proxy", "*")], "http://h/", None),
            (&[("HTTP_PROXY", "p"), ("no_proxy", "h:81")], "http://h/", Some("http://p")),
            (&[("HTTP_PROXY", "p"), ("no_proxy", "h:81")], "http://h:81/", None),
            (&[("HTTP_PROXY", "p"), ("no_proxy", "::1")], "http://[::1]/", None),
            (&[("HTTP_PROXY", " ")], "http://h/", None),
        ] {
            assert_eq!(of(variables).proxy_for(&url(address)), expected, "{variables:?} {address}");
        }
    }

    #[test]
    fn unusable_proxies_are_found() {
        for (proxy, expected) in [
            ("http://p:1", Ok(())),
            ("https://user:secret@p", Ok(())),
            ("socks5://user:secret@p:1", Err("socks5://…@p:1".to_owned())),
            ("hf://user:secret@p", Err("hf://…@p".to_owned())),
            ("socks5://user:se/cret@p:1", Err("socks5://…@p:1".to_owned())),
            ("socks5://user:se#cr@et@p:1", Err("socks5://…@p:1".to_owned())),
            ("http://", Err("http://".to_owned())),
        ] {
            let proxies = of(&[("ALL_PROXY", proxy)]);
            assert_eq!(proxies.check(), expected);
            let shown = format!("{proxies:?}");
            assert!(!proxy.contains("p:1") || shown.contains("p:1"), "{shown}");
            assert!(!["secret", "se/", "cr@et", "se#"].iter().any(|part| shown.contains(part)), "{shown}");
        }
    }
}
