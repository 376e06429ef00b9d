//! Behaviours of servers: a line for each, with the outcome, the requests and the most bytes.

mod rows;

use crate::act::act;
use crate::server::{File, Request, Server, Wire};
use safetensors_remote::{Hub, Options, RemoteError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is done after the model has been opened.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Reads a tensor.
    Tensor(&'static str),
    /// Reads all tensors, which are announced.
    Neighbours,
    /// Reads from one offset to another one, so many bytes at a time.
    Pieces(u64, u64, usize),
}

/// What a model looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub files: Vec<String>,
    pub tensors: usize,
    pub parameters: u64,
    pub has_config: bool,
}

type Serve = Arc<dyn Fn(&File, &Request, &mut Wire) -> io::Result<()> + Send + Sync>;

/// One behaviour.
pub struct Row {
    name: &'static str,
    serve: Serve,
    file: File,
    steps: Vec<Step>,
    options: fn(&mut Options, &Server),
    /// Words of the error; `None` if all goes well.
    error: Option<&'static str>,
    requests: usize,
    /// The most bytes that the server may have sent.
    bytes: u64,
    connections: Option<usize>,
    check: fn(&Server),
}

/// The header of most files, and their length.
pub const HEADER: usize = 200;
pub const LEN: u64 = 300_000;
/// What the heads of replies take.
pub const HEADS: u64 = 3000;

impl Row {
    fn new(
        name: &'static str,
        requests: usize,
        serve: impl Fn(&File, &Request, &mut Wire) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            serve: Arc::new(serve),
            file: File::with_header(HEADER, LEN - HEADER as u64),
            steps: Vec::new(),
            options: |_, _| {},
            error: None,
            requests,
            bytes: LEN + HEADS,
            connections: None,
            check: |_| {},
        }
    }

    fn file(self, file: File) -> Self {
        Self { file, ..self }
    }

    fn then(self, steps: &[Step]) -> Self {
        Self { steps: steps.to_vec(), ..self }
    }

    fn with(self, options: fn(&mut Options, &Server)) -> Self {
        Self { options, ..self }
    }

    fn fails(self, error: &'static str) -> Self {
        Self { error: Some(error), ..self }
    }

    fn sends(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }

    fn over(self, connections: usize) -> Self {
        Self { connections: Some(connections), ..self }
    }

    fn check(self, check: fn(&Server)) -> Self {
        Self { check, ..self }
    }

    fn start(&self) -> Server {
        let (serve, file) = (self.serve.clone(), Arc::new(self.file.clone()));
        Server::new(move |request, wire| serve(&file, request, wire))
    }

    fn options(&self, server: &Server) -> Options {
        let mut options = options();
        (self.options)(&mut options, server);
        options
    }

    /// Compares what happened with this line.
    fn judge(&self, server: &Server, outcome: &Result<(), RemoteError>, took: Duration) -> Option<String> {
        let text = outcome.as_ref().err().map(ToString::to_string);
        let is_expected = match (&text, self.error) {
            (None, None) => true,
            (Some(text), Some(words)) => {
                text.contains(words)
                    && text.starts_with("http://127.0.0.1:")
                    && !text.contains("secret")
                    && !text.contains('\n')
            }
            _ => false,
        };
        let (requests, sent) = (server.requests().len(), server.sent());
        let is_good = is_expected && requests == self.requests && sent <= self.bytes && took < LONGEST;
        let is_good = is_good && self.connections.is_none_or(|it| it == server.connections());
        let checked = catch_unwind(AssertUnwindSafe(|| (self.check)(server))).is_ok();
        let report = || format!("{}: {text:?}, {requests} requests, {sent} bytes, {took:?}", self.name);
        (!is_good || !checked).then(report)
    }
}

/// No behaviour may keep a client for longer.
const LONGEST: Duration = Duration::from_secs(20);

#[test]
fn the_client_copes_with_every_server() {
    let try_row = |row: &Row| {
        let server = row.start();
        let begun = Instant::now();
        let outcome = act(row.options(&server), &server.url("/m"), &row.steps, &row.file);
        row.judge(&server, &outcome, begun.elapsed())
    };
    let mut wrong = Vec::new();
    // Many only wait.
    for rows in rows::all().chunks(16) {
        std::thread::scope(|scope| {
            let all: Vec<_> = rows.iter().map(|row| scope.spawn(|| try_row(row))).collect();
            wrong.extend(all.into_iter().filter_map(|row| row.join().expect("it does not panic")));
        });
    }
    assert!(wrong.is_empty(), "{} behaviours:\n{}", wrong.len(), wrong.join("\n"));
}

/// Options with short delays, and with times that a busy computer keeps.
pub fn options() -> Options {
    Options {
        retries: 2,
        retry_delay: Duration::from_millis(2),
        max_retry_delay: Duration::from_millis(1500),
        connect_timeout: Duration::from_secs(2),
        idle_timeout: Duration::from_secs(10),
        header_timeout: Duration::from_secs(20),
        hub: Hub { endpoint: "http://127.0.0.9:1".into(), ..Hub::default() },
        ..Options::new()
    }
}
