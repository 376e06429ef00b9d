//! Several readers of one file: a reply for each, and a common one for small tensors that follow each other.

use crate::cases::{HEADS, options};
use crate::server::{File, Server, part};
use safetensors_remote::{Client, Location, ModelFile, RemoteModel};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A model of so many tensors of this length.
fn model(tensors: u64, len: u64) -> (File, Server) {
    let entry = |number: u64| {
        let (begin, end) = (number * len, (number + 1) * len);
        format!(
            r#""model.layers.{number:05}.bias":{{"dtype":"U8","shape":[{len}],"data_offsets":[{begin},{end}]}}"#
        )
    };
    let header = (0..tensors).map(entry).collect::<Vec<_>>().join(",");
    let file = File::new(&format!("{{{header}}}"), tensors * len);
    let served = file.clone();
    (file, Server::new(move |request, wire| part(&served, request).send(wire)))
}

fn open(server: &Server) -> ModelFile {
    let (client, location) = (Client::new(options()).unwrap(), Location::parse(&server.url("/m")).unwrap());
    RemoteModel::open(&client, &location).unwrap().into_files().remove(0)
}

/// Reads a range, and compares it with the file.
fn read(part: &ModelFile, range: Range<u64>, file: &File) {
    let (mut at, mut buffer) = (range.start, vec![0; 5000]);
    while at < range.end {
        let wanted = buffer.len().min(usize::try_from(range.end - at).unwrap());
        let read = part.file().read(at, &mut buffer[..wanted], Some(range.end)).unwrap();
        assert!(read > 0 && buffer[..read] == file.bytes(at, at + read as u64), "byte {at}");
        at += read as u64;
    }
}

/// The last request for bytes.
fn last(server: &Server) -> Range<u64> {
    let (first, last) = server.requests().last().unwrap().range().unwrap();
    first..last + 1
}

#[test]
fn threads_share_the_reply() {
    let (file, server) = model(1500, 2200);
    let part = open(&server);
    part.expect_all();
    let (next, start) = (AtomicUsize::new(0), part.index().summary().data_start);
    let ranges = part.index().tensors().map(|tensor| start + tensor.begin()..start + tensor.end());
    let ranges: Vec<Range<u64>> = ranges.collect();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(range) = ranges.get(next.fetch_add(1, Ordering::Relaxed)) {
                    read(&part, range.clone(), &file);
                }
            });
        }
    });
    assert_eq!(server.requests().len(), 3);
    assert!(server.sent() <= file.len + HEADS, "{}", server.sent());
}

/// What was read long ago is forgotten, and then requested by itself; so is what was not announced.
#[test]
fn a_tensor_far_from_the_others_is_one_request_for_its_bytes() {
    const LEN: u64 = 250_000;
    let (file, server) = model(60, LEN);
    let part = open(&server);
    let start = part.index().summary().data_start;
    let tensor = |number: u64| start + number * LEN..start + (number + 1) * LEN;
    read(&part, tensor(9), &file);
    assert_eq!((server.requests().len(), last(&server)), (2, tensor(9)));
    part.expect_all();
    (0..60).for_each(|number| read(&part, tensor(number), &file));
    assert_eq!((server.requests().len(), last(&server)), (3, 100_000..start + 60 * LEN));
    // All have been read, and so only the last ones are kept.
    [59, 50, 40].into_iter().for_each(|number| read(&part, tensor(number), &file));
    assert_eq!((server.requests().len(), last(&server)), (4, tensor(40)));
    part.expect_all();
    (20..59).chain([40, 20]).for_each(|number| read(&part, tensor(number), &file));
    assert_eq!((server.requests().len(), last(&server)), (6, tensor(20)));
    assert_eq!(server.requests()[4].range(), Some((tensor(20).start, start + 60 * LEN - 1)));
}

#[test]
fn readers_in_turn_have_a_reply_each() {
    let (file, server) = model(4, 300_000);
    let part = open(&server);
    for at in (0..10_u64).flat_map(|at| [200_000 + 100 * at, 500_000 + 100 * at]) {
        let mut bytes = [0; 100];
        let len = part.file().read(at, &mut bytes, Some(at / 100_000 * 100_000 + 100_000)).unwrap();
        assert_eq!(bytes[..len], file.bytes(at, at + len as u64));
    }
    assert_eq!(server.requests().len(), 3);
}
