//! The transport: sends a request, and reads a body piece by piece. It decides nothing.

pub(crate) mod blocking;
mod head;

use crate::error::RemoteErrorKind;
use crate::exchange::Failure;
use crate::options::Options;
use std::fmt;
use std::time::Duration;

/// The most bytes that a blocking read takes from a body.
const PIECE: usize = 1 << 16;

pub(crate) const CONNECTION: &str = "a connection";
pub(crate) const REPLY: &str = "the next bytes";

/// The timeouts that errors state.
#[derive(Clone, Copy)]
struct Limits {
    connect: Duration,
    idle: Duration,
}

impl Limits {
    fn of(options: &Options) -> Self {
        Self { connect: options.connect_timeout, idle: options.idle_timeout }
    }
}

fn timeout(waiting_for: &'static str, limit: Duration) -> Failure {
    Failure { kind: RemoteErrorKind::Timeout { waiting_for, limit }, is_transient: true }
}

fn network(reason: String, is_transient: bool) -> Failure {
    // Without the number of the system.
    let reason = reason.split(" (os error").next().unwrap_or_default();
    let advice = match () {
        () if reason.contains("UnknownIssuer") => "; SSL_CERT_FILE can name the certificate of its issuer",
        () if reason.contains("InvalidContentType") => ", which may mean that its port is not one of https",
        () => "",
    };
    let reason = format!("{reason}{advice}");
    Failure { kind: RemoteErrorKind::Network(reason), is_transient }
}

fn unreadable(reason: String) -> Failure {
    Failure { kind: RemoteErrorKind::Reply(reason), is_transient: false }
}

fn long_head(limit: fmt::Arguments<'_>) -> Failure {
    unreadable(format!("its head is too long: more than {limit}"))
}

/// The certificates that replace the roots of Mozilla.
fn ca_file(options: &Options) -> Result<Option<Vec<u8>>, RemoteErrorKind> {
    let Some(path) = &options.ca_file else { return Ok(None) };
    let read = std::fs::read(path);
    read.map(Some).map_err(|error| {
        let why = error.to_string();
        let why = why.split(" (os error").next().unwrap_or_default().to_lowercase();
        let reason = format!("the certificates in {} cannot be read: {why}", path.display());
        RemoteErrorKind::Setup(reason)
    })
}

fn bad_certificates(options: &Options) -> RemoteErrorKind {
    let path = options.ca_file.as_ref().map_or(String::new(), |path| path.display().to_string());
    RemoteErrorKind::Setup(format!("{path} has no certificate in PEM"))
}

#[cfg(test)]
mod tests {
    use super::network;

    #[test]
    fn errors_of_tls_say_what_to_do() {
        for (reason, advice) in [
            ("invalid peer certificate: UnknownIssuer", "SSL_CERT_FILE"),
            ("received corrupt message of type InvalidContentType", "its port is not one of https"),
        ] {
            let error = network(reason.into(), false).kind.to_string();
            assert!(error.contains(reason) && error.contains(advice), "{error}");
        }
        let refused = network("Connection refused (os error 111)".into(), false).kind.to_string();
        assert!(refused.ends_with("Connection refused"), "{refused}");
    }
}
