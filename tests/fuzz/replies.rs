//! Any replies, in any order, to the client of models on web servers: a tensor has the bytes of one version
//! of the server's file, or there is an error. The client is compiled with this transport, without sockets.
#![no_main]
#![allow(dead_code, unused_imports)]

macro_rules! client {
    ($($path:literal $module:ident)+) => {
        $(#[path = $path] mod $module;)+
    };
}

client! {
    "../../crates/safetensors-remote/src/client.rs" client
    "../../crates/safetensors-remote/src/error.rs" error
    "../../crates/safetensors-remote/src/exchange/mod.rs" exchange
    "../../crates/safetensors-remote/src/file.rs" file
    "../../crates/safetensors-remote/src/hub.rs" hub
    "../../crates/safetensors-remote/src/location.rs" location
    "../../crates/safetensors-remote/src/model.rs" model
    "../../crates/safetensors-remote/src/options.rs" options
    "../../crates/safetensors-remote/src/parallel.rs" parallel
    "../../crates/safetensors-remote/src/parameters/mod.rs" parameters
    "../../crates/safetensors-remote/src/proxy.rs" proxy
    "../../crates/safetensors-remote/src/shared.rs" shared
    "../../crates/safetensors-remote/src/url.rs" url
    "../../crates/safetensors-remote/src/window.rs" window
}

use crate::url::Url;
use client::{Answer, Client};
use embedded_safetensors::{Model, ReadAt};
use embedded_safetensors_macros::blocking as form;
use error::{RemoteError, RemoteErrorKind};
use exchange::{Failure, Head, Request};
use file::RemoteFile;
use http::{HeaderMap, HeaderValue};
use hub::{CANDIDATES, ENDPOINT, Hub, Token};
use libfuzzer_sys::fuzz_target;
use location::Location;
use model::{MAX_CONFIG, ModelFile, RemoteModel};
use options::Options;
use parallel::{Mutex as Lock, open_all};
use proxy::Proxies;
use safetensors_files::shards::ShardLimits;
use shared::SharedFile;
use std::cell::RefCell;
use std::time::Duration;
use support::dictionary::{Dictionary, Kinds};
use support::random::Random;

const LIMITS: ShardLimits = ShardLimits { bytes: u64::MAX, tensors: 2_000_000, ..ShardLimits::USUAL };

/// What is served.
const LOCATIONS: [&str; 5] = [
    "http://host/m/model.safetensors",
    "https://huggingface.co/o/n/resolve/main/model.safetensors",
    "http://host/m/model.safetensors.index.json",
    "hf://o/n",
    "hf://o/n@v1/model.safetensors.index.json",
];
const SECRET: &str = "hf_secret";

/// A server, which runs in the thread of its client.
struct Server {
    random: Random,
    /// Two versions of the file; of a model in two files, the other one has no tensors.
    versions: [Vec<u8>; 2],
    index: Vec<u8>,
    version: usize,
    /// How many of a hundred replies are not the right one.
    wrong: u64,
    has_ranges: bool,
    has_etags: bool,
}

thread_local! {
    static SERVER: RefCell<Option<Server>> = const { RefCell::new(None) };
}

/// Calls `act` with the server of this thread.
fn with_server<T>(act: impl FnOnce(&mut Server) -> T) -> T {
    SERVER.with_borrow_mut(|server| act(server.as_mut().expect("it has begun")))
}

impl Server {
    fn new(mut random: Random, mut dictionary: Dictionary) -> Self {
        let version = |text: &str| Some(vec![("version".to_owned(), text.to_owned())]);
        dictionary.metadata = version("1");
        let mut other = Dictionary { metadata: version("2"), ..dictionary.clone() };
        other.tensors.iter_mut().for_each(|tensor| tensor.bytes.iter_mut().for_each(|byte| *byte = !*byte));
        let pairs = dictionary.tensors.iter().map(|tensor| (tensor.name.clone(), "model.safetensors".into()));
        let map: serde_json::Map<String, serde_json::Value> = pairs.collect();
        let (wrong, has_ranges, has_etags) =
            (random.pick(&[0, 10, 30, 60]), random.percent(80), random.percent(80));
        Self {
            random,
            versions: [dictionary.file(), other.file()],
            index: serde_json::json!({ "weight_map": map }).to_string().into_bytes(),
            version: 0,
            wrong,
            has_ranges,
            has_etags,
        }
    }

    fn is_wrong(&mut self) -> bool {
        self.random.percent(self.wrong)
    }

    /// Returns the file at a path, as it is now.
    fn content(&self, path: &str) -> Vec<u8> {
        match path {
            _ if path.ends_with(".index.json") => self.index.clone(),
            _ if path.ends_with("config.json") => br#"{"quantization_config":{"bits":4}}"#.to_vec(),
            _ => self.versions[self.version].clone(),
        }
    }

    fn reply(&mut self, request: &Request) -> Result<(Head, Body), Failure> {
        if self.is_wrong() {
            return match self.random.below(3) {
                0 => Err(self.failure()),
                1 => Ok((self.redirect(request.url.path()), Body::default())),
                _ => Ok((self.refusal(), Body::default())),
            };
        }
        if self.has_etags && self.is_wrong() {
            self.version ^= 1;
        }
        let header = |name| request.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        let range = header("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let mut asked = range.map(|(first, last)| (number(first), number(last)));
        let etag = self.has_etags.then(|| format!("\"{}\"", self.version));
        let is_other = header("if-range").is_some_and(|known| Some(known) != etag.as_ref());
        if !self.has_ranges || is_other && !self.is_wrong() {
            asked = None;
        }
        let content = self.content(request.url.path());
        let (head, bytes) = self.success(&content, asked, etag);
        // The end of a whole file may be told by its body alone.
        let most = bytes.len() + usize::from(head.status == 206);
        Ok((head, self.body(bytes, most)))
    }

    fn failure(&mut self) -> Failure {
        let kind = match self.random.percent(50) {
            true => RemoteErrorKind::Network("reset".into()),
            false => RemoteErrorKind::Timeout { waiting_for: "it", limit: Duration::from_secs(1) },
        };
        Failure { kind, is_transient: self.random.percent(70) }
    }

    /// Leads elsewhere, where the same file is.
    fn redirect(&mut self, path: &str) -> Head {
        let path = path.to_owned();
        let to = match self.random.below(8) {
            0 => path,
            1 => format!("//cdn{path}?key=hidden"),
            2 => format!("https://huggingface.co{path}"),
            3 => format!("http://huggingface.co{path}#x"),
            4 => format!("https://user:hidden@host{path}"),
            5 => format!("file://{path}"),
            6 => "https://huggingface.co.evil:99999999/".into(),
            _ => String::new(),
        };
        let status = self.random.pick(&[301, 302, 303, 307, 308]);
        head(status, &[("location", to)])
    }

    fn refusal(&mut self) -> Head {
        let status = self.random.pick(&[100, 204, 304, 401, 403, 404, 410, 416, 429, 500, 503, 999]);
        let seconds = self.random.pick(&["0", "1", "31", "-1", "18446744073709551616", "soon"]);
        head(status, &[("retry-after", seconds.into())])
    }

    /// Returns a part of the file, or all of it, as its head describes it.
    fn success(&mut self, file: &[u8], asked: Option<(u64, u64)>, etag: Option<String>) -> (Head, Vec<u8>) {
        let total = file.len() as u64;
        let mut headers: Vec<_> = etag.into_iter().map(|etag| ("etag", etag)).collect();
        let (status, bytes) = match asked {
            Some((first, _)) if first >= total => {
                headers.push(("content-range", format!("bytes */{total}")));
                (416, Vec::new())
            }
            Some((mut first, last)) => {
                let (mut last, mut claimed) = (last.min(total - 1), total);
                if self.is_wrong() {
                    match self.random.below(5) {
                        0 => last = first + (last - first) / 2,
                        1 => first = first.saturating_sub(1),
                        2 => last = (last + 1).min(total - 1),
                        3 => claimed += 1,
                        _ => claimed = self.random.number(),
                    }
                }
                let [start, end] = [first, last + 1].map(|at| usize::try_from(at).expect("in the file"));
                headers.push(("content-range", format!("bytes {first}-{last}/{claimed}")));
                (206, file.get(start..end).unwrap_or_default().to_vec())
            }
            None => (200, file.to_vec()),
        };
        let len = bytes.len() as u64;
        headers.push(("content-length", len.to_string()));
        if self.is_wrong() {
            let any = self.random.number();
            let text = self.random.pick(&["", "identity", "gzip", "bytes 0-9/*", "multipart/x", "\u{a0}"]);
            let last = headers.len() - 1;
            match self.random.below(6) {
                0 => drop(headers.pop()),
                1 => headers[last].1 = self.random.pick(&[len + 1, any]).to_string(),
                2 => headers.push(("content-encoding", text.into())),
                3 => headers.push(("transfer-encoding", "chunked".into())),
                4 => headers.push(("content-type", text.into())),
                _ => headers.retain(|(name, _)| *name != "content-range"),
            }
        }
        (head(status, &headers), bytes)
    }

    /// Sends these bytes, or fewer, or more.
    fn body(&mut self, mut bytes: Vec<u8>, most: usize) -> Body {
        let mut is_lost = false;
        if self.is_wrong() {
            bytes.resize(self.random.below(most + 1), b'?');
            is_lost = self.random.percent(70);
        }
        let piece = 1 + self.random.pick(&[0, 6, 300, 65_535]);
        Body { bytes, at: 0, piece, is_lost }
    }
}

fn head(status: u16, headers: &[(&'static str, String)]) -> Head {
    let value = |text: &String| HeaderValue::from_bytes(text.as_bytes()).expect("no control characters");
    let headers = headers.iter().map(|(name, text)| (http::HeaderName::from_static(name), value(text)));
    Head { status, headers: headers.collect::<HeaderMap>() }
}

pub struct Transport;

/// The body of a reply.
#[derive(Default)]
pub struct Body {
    bytes: Vec<u8>,
    at: usize,
    piece: usize,
    /// Whether the connection is lost at its end.
    is_lost: bool,
}

impl Transport {
    fn new(_: &Options) -> Result<Self, RemoteErrorKind> {
        Ok(Self)
    }

    fn send(&self, request: &Request, options: &Options, _: Duration) -> Result<(Head, Body), Failure> {
        let shows = |(name, value): &(&str, String)| *name == "authorization" || value.contains(SECRET);
        assert!(options.hub.has(&request.url) || !request.headers.iter().any(shows), "{request:?}");
        with_server(|server| server.reply(request))
    }

    fn wait(&self, delay: Duration) -> Result<(), Failure> {
        assert!(delay <= Duration::from_secs(30));
        Ok(())
    }

    fn stop(&self) {}
}

impl Body {
    fn next(&mut self, piece: &mut Vec<u8>) -> Result<usize, Failure> {
        let end = self.bytes.len().min(self.at + self.piece);
        *piece = self.bytes[self.at..end].to_vec();
        self.at = end;
        match piece.len() {
            0 if self.is_lost => Err(with_server(Server::failure)),
            len => Ok(len),
        }
    }

    fn surplus(self, _: Duration) -> usize {
        self.bytes.len() - self.at
    }
}

/// Checks that an error is one that a server can cause.
fn check(error: &RemoteError) {
    use RemoteErrorKind::{Location, Memory, Offline, Setup, Stopped};
    let is_ours = matches!(error.kind(), Location(_) | Offline | Setup(_) | Stopped | Memory(_));
    let text = format!("{error}{error:?}");
    assert!(!is_ours && !text.contains(SECRET) && !text.contains("hidden"), "{text}");
    assert!(!error.to_string().contains('\n'), "{error}");
}

fn options(random: &mut Random) -> Options {
    Options {
        first_request: 1 + random.below(600) as u64,
        max_header: 100_000,
        read_ahead: 1 + random.below(100) as u64,
        max_window: 1 + random.below(300) as u64,
        max_whole: random.below(3000) as u64,
        retries: 2,
        max_redirects: 3,
        parallel: 1,
        hub: Hub { token: Token::new(SECRET), ..Hub::default() },
        ..Options::new()
    }
}

/// What is read of a file must be in one of its versions, always in the same.
struct Seen {
    files: [Vec<u8>; 2],
    may_be: [bool; 2],
}

impl Seen {
    fn add(&mut self, offset: u64, bytes: &[u8]) {
        let offset = usize::try_from(offset).expect("in the file");
        for (file, may_be) in self.files.iter().zip(&mut self.may_be) {
            *may_be &= file.get(offset..).is_some_and(|rest| rest.starts_with(bytes));
        }
        assert!(self.may_be.contains(&true), "{} bytes at {offset} of no version", bytes.len());
    }

    /// Reads of a file in some way.
    fn read(&mut self, file: &ModelFile, random: &mut Random) -> Result<(), RemoteError> {
        let start = file.index().summary().data_start;
        let count = file.index().len();
        let tensor = file.index().tensors().nth(random.below(count + 1));
        match (random.below(4), tensor) {
            (0, _) => file.expect_all(),
            (1, Some(tensor)) => assert!(file.expect(tensor.name())),
            (2, Some(tensor)) => {
                let bytes = file.read(tensor.name())?.expect("present");
                assert_eq!(bytes.len() as u64, tensor.byte_len());
                self.add(start + tensor.begin(), &bytes);
            }
            _ => {
                let (mut at, mut buffer) = (random.below(3000) as u64, vec![0; 1 + random.below(300)]);
                for _ in 0..random.below(5) {
                    let read = file.file().read(at, &mut buffer, None)?;
                    if read > 0 {
                        self.add(at, &buffer[..read]);
                    }
                    at += read as u64;
                }
            }
        }
        Ok(())
    }
}

fn run(
    client: &Client,
    location: &str,
    files: &[Vec<u8>; 2],
    random: &mut Random,
) -> Result<(), RemoteError> {
    let model = RemoteModel::open(client, &Location::parse(location)?)?;
    for file in model.files() {
        let mut seen = Seen { files: files.clone(), may_be: [true; 2] };
        seen.add(0, file.header());
        for _ in 0..random.below(8) {
            if let Err(error) = seen.read(file, random) {
                check(&error);
            }
        }
    }
    model.config().map(drop)
}

fuzz_target!(|input: &[u8]| {
    let random = &mut Random::of(input);
    let (options, count) = (options(random), random.below(6));
    let (dictionary, location) = (Dictionary::of(count, Kinds::All, random), random.pick(&LOCATIONS));
    let server = Server::new(random.clone(), dictionary);
    let files = server.versions.clone();
    SERVER.set(Some(server));
    let client = Client::new(options).expect("no certificates, no proxies");
    if let Err(error) = run(&client, location, &files, &mut Random::new(random.number())) {
        check(&error);
    }
});
