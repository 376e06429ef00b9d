//! Several readers of one file, and files for a validator.

use crate::cases::options;
use crate::server::{File, Server, part};
use safetensors_remote::{Client, RemoteErrorKind, RemoteFile, SharedFile, Url};

fn url(server: &Server) -> Url {
    Url::parse(&server.url("/m")).unwrap()
}

#[test]
fn readers_in_turn_have_a_reply_each() {
    let file = File::with_header(200, 1_000_000);
    let served = file.clone();
    let server = Server::new(move |request, wire| part(&served, request).send(wire));
    let shared = SharedFile::new(RemoteFile::open(&Client::new(options()).unwrap(), &url(&server)).unwrap());
    let mut bytes = [0; 100];
    for at in (0..10_u64).flat_map(|at| [200_000 + 100 * at, 500_000 + 100 * at]) {
        let len = shared.read(at, &mut bytes, Some(at / 100_000 * 100_000 + 100_000)).unwrap();
        assert_eq!(bytes[..len], file.bytes(at, at + len as u64));
    }
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
        let file = RemoteFile::open_unchecked(&client, &url(&server)).unwrap();
        assert_eq!((file.beginning(), file.len()), (bytes, Some(bytes.len() as u64)));
    }
    // The limit of the client is another one.
    let file = File::of(&b"\0\0\0\x02\0\0\0\0{}"[..]);
    let server = Server::new(move |request, wire| part(&file, request).send(wire));
    let error = RemoteFile::open_unchecked(&Client::new(options()).unwrap(), &url(&server)).unwrap_err();
    assert!(matches!(error.kind(), RemoteErrorKind::HeaderTooLarge { len: 0x0200_0000, .. }));
}
