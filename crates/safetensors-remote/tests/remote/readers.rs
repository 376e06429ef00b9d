//! Several readers of one file, and files for a validator.

use crate::cases::options;
use crate::server::{File, Server, part};
use embedded_safetensors::ReadAt;
use safetensors_remote::{Client, RemoteErrorKind, RemoteFile, Url};

fn url(server: &Server) -> Url {
    Url::parse(&server.url("/m")).unwrap()
}

#[test]
fn another_reader_needs_no_request_for_the_header() {
    let file = File::with_header(200, 1_000_000);
    let served = file.clone();
    let server = Server::new(move |request, wire| part(&served, request).send(wire));
    let mut one = RemoteFile::open(&Client::new(options()).unwrap(), &url(&server)).unwrap();
    let mut other = one.another();
    assert_eq!((other.header(), other.len()), (one.header(), one.len()));
    assert_eq!(server.requests().len(), 1);
    let mut bytes = [[0; 100], [0; 100]];
    one.expect(200_000..300_000);
    other.expect(500_000..600_000);
    for at in 0..10_u64 {
        let ranges = [200_000 + 100 * at, 500_000 + 100 * at];
        let read = [one.read_at(ranges[0], &mut bytes[0]), other.read_at(ranges[1], &mut bytes[1])];
        for ((read, bytes), start) in read.into_iter().zip(&bytes).zip(ranges) {
            let len = read.unwrap();
            assert_eq!(bytes[..len], file.bytes(start, start + len as u64));
        }
    }
    // One request for each of them.
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn invalid_headers_are_for_the_validator() {
    let page = b"<!doctype html><title>Log in</title>";
    for bytes in [&b"abc"[..], b"\x40\0\0\0\0\0\0\0{}", b"\x89PNG\r\n\x1a\n and more", page] {
        let file = File::of(bytes);
        let server = Server::new(move |request, wire| part(&file, request).send(wire));
        let client = Client::new(options()).unwrap();
        assert!(RemoteFile::open(&client, &url(&server)).is_err());
        let mut file = RemoteFile::open_unchecked(&client, &url(&server)).unwrap();
        let mut found = [0; 100];
        let len = file.read_at(0, &mut found).unwrap();
        assert_eq!((&found[..len], file.len()), (bytes, Some(bytes.len() as u64)));
    }
    // The limit of the client is another one.
    let file = File::of(&b"\0\0\0\x02\0\0\0\0{}"[..]);
    let server = Server::new(move |request, wire| part(&file, request).send(wire));
    let error = RemoteFile::open_unchecked(&Client::new(options()).unwrap(), &url(&server)).unwrap_err();
    assert!(matches!(error.kind(), RemoteErrorKind::HeaderTooLarge { len: 0x0200_0000, .. }));
}
