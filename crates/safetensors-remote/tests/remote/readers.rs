//! Several readers of one file.

use crate::cases::options;
use crate::server::{File, Server, part};
use safetensors_remote::{Client, RemoteFile, SharedFile, Url};

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
