//! Keys for Ed25519 in PEM (RFC 8410), as OpenSSL writes them.

use super::open::read_small;
use crate::error::Error;
use ed25519_dalek::pkcs8::spki::der::zeroize::Zeroizing;
use std::path::Path;

/// Reads a key of this kind. An error has no byte of the file.
pub fn key<K, E>(path: &Path, kind: &str, parse: impl Fn(&str) -> Result<K, E>) -> Result<K, Error> {
    let bytes = Zeroizing::new(read_small(path).map_err(|reason| Error::not_read(path, reason))?);
    let text = str::from_utf8(&bytes).unwrap_or_default();
    parse(text).map_err(|_| Error::about(path, format!("is no {kind} in PEM for Ed25519")))
}
