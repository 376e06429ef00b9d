//! Clients that are stopped while they wait.

use crate::cases::options;
use crate::server::{File, Request, Server, Wire, part};
use safetensors_remote::{Client, Location, Options, RemoteErrorKind, RemoteModel};
use std::io;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

type Serve = fn(&File, &Request, &mut Wire) -> io::Result<()>;

/// Reads a tensor, and stops the client meanwhile. Returns how long that took.
fn stop(serve: Serve) -> Duration {
    let file = File::with_header(200, 400_000);
    let server = Server::new(move |request, wire| serve(&file, request, wire));
    let patient = Duration::from_secs(60);
    let options = Options {
        retry_delay: patient,
        max_retry_delay: patient,
        idle_timeout: patient,
        header_timeout: 10 * patient,
        ..options()
    };
    let (client, url) = (Client::new(options).unwrap(), Location::parse(&server.url("/m")).unwrap());
    let read = || -> Result<_, safetensors_remote::RemoteError> {
        RemoteModel::open(&client, &url)?.files()[0].read("b")
    };
    scope(|scope| {
        let reading = scope.spawn(read);
        sleep(Duration::from_millis(300));
        let stopped = Instant::now();
        client.clone().stop();
        let error = reading.join().unwrap().unwrap_err();
        assert!(matches!(error.kind(), RemoteErrorKind::Stopped), "{error}");
        let (took, requests) = (stopped.elapsed(), server.requests().len());
        assert!(matches!(read().unwrap_err().kind(), RemoteErrorKind::Stopped));
        assert_eq!(server.requests().len(), requests, "nothing is sent any more");
        took
    })
}

#[test]
fn a_stop_ends_every_wait() {
    let waits: [(&str, Serve); 5] = [
        ("for the head", |_, _, wire| wire.hang()),
        ("for the header", |file, request, wire| {
            part(file, request).cut(50).send(wire)?;
            wire.hang()
        }),
        ("for data", |file, request, wire| match request.number {
            0 => part(file, request).send(wire),
            _ => part(file, request).cut(50).send(wire).and_then(|()| wire.hang()),
        }),
        ("for data without a length", |file, request, wire| match request.number {
            0 => part(file, request).send(wire),
            _ => {
                let reply = part(file, request).protocol("HTTP/1.0").without("Content-Length");
                reply.cut(50).send(wire).and_then(|()| wire.hang())
            }
        }),
        ("for a repetition", |_, _, wire| {
            crate::server::Reply::new(&File::of("busy")).status(503).send(wire)
        }),
    ];
    for (what, serve) in waits {
        let took = stop(serve);
        assert!(took < Duration::from_secs(5), "{what}: {took:?}");
    }
}
