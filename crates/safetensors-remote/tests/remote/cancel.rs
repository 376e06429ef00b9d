//! Futures that are dropped before they complete: the read has then not been made.

use crate::cases::options;
use crate::server::{File, Server, part};
use safetensors_remote::asynch::{Client, ModelFile, RemoteFile, SharedFile};
use safetensors_remote::{Options, Url};
use std::sync::Arc;
use std::time::Duration;

/// Polls a future for so many milliseconds, and then drops it.
async fn within<T>(milliseconds: u64, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(milliseconds), future).await.ok()
}

fn run(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
}

/// The server pauses within each reply, so most reads are dropped several times. Once a reply has begun, no
/// byte of it is requested again.
#[test]
fn dropped_reads_are_repeated() {
    run(drop_reads());
}

async fn drop_reads() {
    let file = Arc::new(File::with_header(200, 400_000));
    let served = file.clone();
    let server = Server::new(move |request, wire| part(&served, request).pace(20_000, 10).send(wire));
    let client = Client::new(options()).unwrap();
    let url = Url::parse(&server.url("/m")).unwrap();
    let shared = SharedFile::new(RemoteFile::open(&client, &url).await.unwrap());
    shared.expect(std::iter::once(0..file.len));
    let (mut at, mut dropped, mut buffer) = (0, 0, vec![0; 7000]);
    while at < file.len {
        match within(3 + dropped / 4, shared.read(at, &mut buffer, None)).await {
            None => dropped += 1,
            Some(read) => {
                let read = read.unwrap();
                assert!(read > 0 && buffer[..read] == file.bytes(at, at + read as u64), "byte {at}");
                at += read as u64;
            }
        }
    }
    assert!(dropped > 5, "{dropped}");
    // A reply whose head did not come in time is requested again, but no reply that had begun.
    let starts = server.requests().iter().map(|request| request.range().unwrap().0).collect::<Vec<_>>();
    assert!(starts[0] == 0 && starts[1..].iter().all(|&start| start == 100_000), "{starts:?}");
}

/// A future that is dropped while it waits for a repetition leaves a file that can be read.
#[test]
fn a_read_is_dropped_during_a_delay() {
    run(drop_a_delay());
}

async fn drop_a_delay() {
    let file = Arc::new(File::with_header(200, 400_000));
    let served = file.clone();
    let server = Server::new(move |request, wire| match request.number {
        1 => part(&served, request).cut(1000).send(wire),
        _ => part(&served, request).send(wire),
    });
    let slowly = Options { retry_delay: Duration::from_secs(1), ..options() };
    let client = Client::new(slowly).unwrap();
    let url = Url::parse(&server.url("/m")).unwrap();
    let shared = SharedFile::new(RemoteFile::open(&client, &url).await.unwrap());
    let (mut at, mut buffer) = (100_000, vec![0; 50_000]);
    while at < 150_000 {
        if let Some(read) = within(300, shared.read(at, &mut buffer, None)).await {
            let read = read.unwrap();
            assert!(buffer[..read] == file.bytes(at, at + read as u64), "byte {at}");
            at += read as u64;
        }
    }
    assert_eq!(server.requests().len(), 3);
}

/// A multithreaded runtime can move the futures from thread to thread.
#[test]
fn futures_can_be_sent() {
    fn check<T: Send>(_: T) {}
    let _ = |part: &ModelFile| (check(part.read("a")), check(part.model()));
    let client = Client::new(options()).unwrap();
    let location = safetensors_remote::Location::parse("hf://o/n").unwrap();
    check(safetensors_remote::asynch::RemoteModel::open(&client, &location));
}
