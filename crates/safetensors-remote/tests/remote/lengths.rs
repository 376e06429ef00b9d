//! Headers about as long as the first request.

use crate::cases::{Step, options};
use crate::server::{File, Server, part};
use std::sync::Arc;

/// The 8 bytes before the header count, too: one of 99,992 bytes is the longest of one request.
#[test]
fn headers_of_99990_to_100001_bytes() {
    for len in 99_990..=100_001 {
        let file = Arc::new(File::with_header(8 + len, 5000));
        let served = file.clone();
        let server = Server::new(move |request, wire| part(&served, request).send(wire));
        crate::blocking::act(options(), &server.url("/m"), &[], &file).unwrap();
        let requests = server.requests();
        assert_eq!(requests.len(), if len <= 99_992 { 1 } else { 2 }, "{len}");
        assert_eq!(requests[0].range(), Some((0, 99_999)));
        if let Some(second) = requests.get(1) {
            assert_eq!(second.range(), Some((100_000, len as u64 + 7)), "{len}");
        }
        assert!(server.sent() < 105_000, "{len}: {}", server.sent());
    }
}

#[test]
fn the_limit_of_a_header_is_exact() {
    let file = Arc::new(File::with_header(8 + 200_000, 5000));
    for (limit, is_good) in [(200_000, true), (199_999, false)] {
        let served = file.clone();
        let server = Server::new(move |request, wire| part(&served, request).send(wire));
        let limited = safetensors_remote::Options { max_header: limit, ..options() };
        let outcome = crate::blocking::act(limited, &server.url("/m"), &[Step::Tensor("a")], &file);
        assert_eq!(outcome.is_ok(), is_good, "{outcome:?}");
        assert_eq!(server.requests().len(), if is_good { 3 } else { 1 });
    }
}
