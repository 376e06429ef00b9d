//! What the environment says: proxies and certificates.

use crate::act::look;
use crate::server::{File, Server, part};
use safetensors_remote::Options;

/// Opens a model with these variables as the environment, and returns the outcome.
fn open(url: &str, variables: &[(&str, &str)]) -> String {
    let value = |name: &str| Some(variables.iter().find(|(known, _)| *known == name)?.1.to_owned());
    let options = Options { retries: 0, ..Options::from_variables(&value) };
    match look(options, url) {
        Ok(seen) => format!("seen {seen:?}"),
        Err(error) => format!("error {error}"),
    }
}

#[test]
fn http_goes_through_the_proxy() {
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let file = File::with_header(200, 1000);
        let server = Server::new(move |request, wire| match request.path.as_str() {
            // A tunnel, which here ends at the proxy itself.
            "model.invalid:80" => wire.write(b"HTTP/1.1 200 OK\r\n\r\n"),
            path if path.ends_with("/m") => part(&file, request).send(wire),
            _ => crate::server::Reply::new(&File::of("")).status(404).send(wire),
        });
        let line = open("http://model.invalid/m", &[(name, &server.url(""))]);
        assert!(line.contains("tensors: 2"), "{name}: {line:?}");
        let is_asked_for = |request: &crate::server::Request| request.path.contains("model.invalid");
        assert!(server.requests().iter().filter(|request| is_asked_for(request)).count() >= 1);
    }
}

#[test]
fn no_proxy_is_honoured() {
    let server = Server::new(|_, _| panic!("a request"));
    let line = open("http://model.invalid/m", &[("HTTP_PROXY", &server.url("")), ("NO_PROXY", ".invalid")]);
    assert!(line.starts_with("error http://model.invalid/m: "), "{line:?}");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_proxy_of_another_kind_is_an_error() {
    let line = open("http://model.invalid/m", &[("ALL_PROXY", "socks5://user:secret@h:1")]);
    assert!(line.contains("socks5://…@h:1") && !line.contains("secret"), "{line:?}");
}

/// The proxy is asked to connect to the host, and never sees the request.
#[test]
fn https_is_tunnelled_through_the_proxy() {
    let server = Server::new(|request, wire| {
        assert_eq!(request.path, "model.invalid:443");
        wire.is_closed = true;
        wire.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    });
    let line =
        open("https://model.invalid/m", &[("HTTPS_PROXY", &server.url("")), ("HF_TOKEN", "hf_secret")]);
    assert!(line.starts_with("error https://model.invalid/m: the connection failed"));
    assert_eq!(server.requests().len(), 1);
    assert!(server.requests().iter().all(|request| request.header("authorization").is_none()));
}

#[test]
fn certificates_that_cannot_be_read_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty.pem");
    std::fs::write(&empty, "no certificate").unwrap();
    for (path, words) in
        [("/no/such/file.pem", "cannot be read"), (empty.to_str().unwrap(), "no certificate in PEM")]
    {
        let line = open("https://model.invalid/m", &[("SSL_CERT_FILE", path)]);
        assert!(line.contains(words), "{line:?}");
    }
}
