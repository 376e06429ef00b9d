//! Any replies, in any order, to the client of models on web servers: a tensor has the bytes of one version
//! of the server's file, or there is an error. The client is compiled with this transport, without sockets.
#![no_main]
#![allow(dead_code, unused_imports)]

macro_rules! modules {
    ($($name:ident)+) => { $(pub mod $name;)+ };
}

/// The sources of the client, but for its transport. What they import from its root is in this file.
#[path = "../../crates/safetensors-remote/src"]
mod remote {
    use super::*;
    modules! { client error exchange file hub location model }
    modules! { options parallel parameters proxy shared url window }
}

use http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use remote::{client::*, error::*, exchange::*, file::*, hub::*, model::*, options::*, shared::*, *};
use safetensors_files::shards::ShardLimits;
use std::sync::Mutex;
use std::time::Duration;
use support::dictionary::{Dictionary, Kinds};
use support::random::Random;

const LIMITS: ShardLimits = ShardLimits::USUAL;
const SECRET: &str = "hf_secret";
const LOCATIONS: &str = "http://host/m/model.safetensors hf://o/n http://host/m/model.safetensors.index.json \
    https://huggingface.co/o/n/resolve/main/model.safetensors hf://o/n@v1/model.safetensors.index.json";
/// Where redirects lead to: mostly to the same file.
const REDIRECTS: &str = " PATH //cdnPATH?key=hidden https://huggingface.coPATH http://huggingface.coPATH#x \
    https://user:hidden@hostPATH file://PATH https://huggingface.co.evil:99999999/";
const STATUSES: &str = "301 302 303 307 308 100 200 204 206 304 401 403 404 410 416 429 500 503 999";
const HEADERS: &str = "content-length content-range content-encoding content-type transfer-encoding";
const VALUES: &str = " identity gzip multipart/x \u{a0} bytes 9 4294967296";

/// Returns one of the words. The first one is empty if a space precedes it.
fn word(words: &'static str, random: &mut Random) -> &'static str {
    random.pick(&words.split(' ').collect::<Vec<_>>())
}

static SERVER: Mutex<Option<Server>> = Mutex::new(None);

struct Server {
    random: Random,
    /// Two versions of the file.
    versions: [Vec<u8>; 2],
    version: usize,
    /// What each other file is: an index of a model of this file, and a `config.json`.
    json: String,
    /// How many of a hundred decisions are wrong.
    wrong: u64,
    has_ranges: bool,
    /// The header that tells the versions apart, and how its value begins. Without it the file never changes.
    mark: Option<(&'static str, &'static str)>,
}

impl Server {
    fn new(mut random: Random) -> Self {
        let mut dictionary = Dictionary::of(random.below(6), Kinds::All, &mut random);
        let files = dictionary.tensors.iter().map(|tensor| (tensor.name.clone(), CANDIDATES[0].into()));
        let json = serde_json::json!({ "weight_map": serde_json::Map::from_iter(files) }).to_string();
        let versions = ["1", "2"].map(|text| {
            dictionary.metadata = Some(vec![("version".into(), text.into())]);
            let bytes = dictionary.tensors.iter_mut().flat_map(|tensor| &mut tensor.bytes);
            bytes.for_each(|byte| *byte = !*byte);
            dictionary.file()
        });
        let (wrong, has_ranges) = (random.pick(&[0, 5, 20, 50]), random.percent(80));
        let marks = [None, Some(("etag", "")), Some(("etag", "W/")), Some(("last-modified", ""))];
        Self { mark: random.pick(&marks), random, versions, version: 0, json, wrong, has_ranges }
    }

    fn is_wrong(&mut self) -> bool {
        self.random.percent(self.wrong)
    }

    /// Returns this number, or a wrong one.
    fn number(&mut self, right: usize) -> usize {
        if !self.is_wrong() {
            return right;
        }
        let wrong = [right + 1, right.saturating_sub(1), right / 2, self.random.below(usize::MAX)];
        self.random.pick(&wrong)
    }

    fn reply(&mut self, request: &Request) -> Result<(Head, Body), Failure> {
        let (path, mut head) = (request.url.path(), Head { status: 200, headers: HeaderMap::new() });
        if self.is_wrong() {
            head.status = word(STATUSES, &mut self.random).parse().expect("a status");
            set(&mut head, "location", &word(REDIRECTS, &mut self.random).replace("PATH", path));
            set(&mut head, "retry-after", word(" 0 1 31 -1 18446744073709551616 soon", &mut self.random));
            return self.failure(30).map_or(Ok((head, Body::default())), Err);
        }
        self.version ^= usize::from(self.mark.is_some() && self.is_wrong());
        let is_file = path.ends_with(".safetensors");
        let mut bytes = if is_file { self.versions[self.version].clone() } else { self.json.clone().into() };
        let mark = self.mark.map(|(name, begin)| (name, format!("{begin}\"{}\"", self.version)));
        mark.iter().for_each(|(name, value)| set(&mut head, name, value));
        let asked = |name| request.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        let is_other = asked("if-range").is_some_and(|known| mark.is_none_or(|(_, now)| now != *known));
        if let Some(range) = asked("range").filter(|_| self.has_ranges && (!is_other || self.is_wrong())) {
            bytes = self.part(&bytes, range, &mut head);
        }
        let len = bytes.len();
        set(&mut head, "content-length", &self.number(len).to_string());
        if self.is_wrong() {
            set(&mut head, word(HEADERS, &mut self.random), word(VALUES, &mut self.random));
        }
        // The end of a whole file may be told by its body alone.
        let most = len + usize::from(head.status == 206);
        bytes.resize(self.number(len).min(most), b'?');
        let pieces = bytes.chunks(1 + self.random.pick(&[0, 6, 300, 65_535])).map(<[u8]>::to_vec);
        Ok((head, Body { pieces: pieces.collect::<Vec<_>>().into_iter(), lost: self.failure(self.wrong) }))
    }

    /// Returns the range of a file that was requested, or another one, and describes it.
    fn part(&mut self, file: &[u8], range: &str, head: &mut Head) -> Vec<u8> {
        let asked = range.split(['=', '-']).flat_map(str::parse);
        let numbers: Vec<_> = asked.chain([file.len()]).map(|number| self.number(number)).collect();
        let (first, last, total) = (numbers[0], numbers[1].min(file.len() - 1), numbers[2]);
        set(head, "content-range", &format!("bytes {first}-{last}/{total}"));
        head.status = 206;
        file.get(first..=last).unwrap_or_default().to_vec()
    }

    /// Returns in this percentage of calls how a connection is lost.
    fn failure(&mut self, percent: u64) -> Option<Failure> {
        let timeout = RemoteErrorKind::Timeout { waiting_for: "it", limit: Duration::ZERO };
        let kind = if self.random.percent(50) { timeout } else { RemoteErrorKind::Network("reset".into()) };
        let is_transient = self.random.percent(70);
        self.random.percent(percent).then_some(Failure { kind, is_transient })
    }
}

/// Sets a header.
fn set(head: &mut Head, name: &'static str, value: &str) {
    head.headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).expect("no control characters"));
}

pub struct Transport;

/// The body of a reply. The connection may be lost at its end.
#[derive(Default)]
pub struct Body {
    pieces: std::vec::IntoIter<Vec<u8>>,
    lost: Option<Failure>,
}

impl Transport {
    fn new(_: &Options) -> Result<Self, RemoteErrorKind> {
        Ok(Self)
    }

    fn send(&self, request: &Request, options: &Options, _: Duration) -> Result<(Head, Body), Failure> {
        let shows = |(name, value): &(&str, String)| *name == "authorization" || value.contains(SECRET);
        assert!(options.hub.has(&request.url) || !request.headers.iter().any(shows), "{request:?}");
        SERVER.lock().expect("one thread").as_mut().expect("it has begun").reply(request)
    }

    fn wait(&self, delay: Duration) -> Result<(), Failure> {
        assert!(delay <= Duration::from_secs(30));
        Ok(())
    }

    fn stop(&self) {}
}

impl Body {
    fn next(&mut self, piece: &mut Vec<u8>) -> Result<usize, Failure> {
        *piece = self.pieces.next().unwrap_or_default();
        self.lost.take_if(|_| piece.is_empty()).map_or(Ok(piece.len()), Err)
    }

    fn surplus(self, _: Duration) -> usize {
        self.pieces.map(|piece| piece.len()).sum()
    }
}

/// Checks that an error is one that a server can cause.
fn check(error: &RemoteError) {
    use RemoteErrorKind::{Location, Memory, Offline, Setup, Stopped};
    let is_ours = matches!(error.kind(), Location(_) | Offline | Setup(_) | Stopped | Memory(_));
    let text = format!("{error}{error:?}");
    let shows = [SECRET, "hidden", "\n"].iter().any(|part| text.contains(part));
    assert!(!is_ours && !shows, "{text}");
}

/// Reads of a file in some way, and returns bytes and their offset.
fn read(file: &ModelFile, after: usize, random: &mut Random) -> Result<(usize, Vec<u8>), RemoteError> {
    let index = file.index();
    match (random.below(4), index.tensors().nth(random.below(index.len() + 1))) {
        (0, _) => file.expect_all(),
        (1, Some(tensor)) => assert!(file.expect(tensor.name())),
        (2, Some(tensor)) => {
            let bytes = file.read(tensor.name())?.expect("present");
            assert_eq!(bytes.len() as u64, tensor.byte_len());
            let start = index.summary().data_start + tensor.begin();
            return Ok((start.try_into().expect("in the file"), bytes));
        }
        _ => {}
    }
    let start = if random.percent(50) { after } else { random.below(3000) };
    let mut buffer = vec![0; 1 + random.below(300)];
    let len = file.file().read(start as u64, &mut buffer, None)?;
    buffer.truncate(len);
    Ok((start, buffer))
}

fn run(random: &mut Random) -> Result<(), RemoteError> {
    let [first_request, read_ahead, max_window, max_whole] =
        [600, 100, 300, 3000].map(|most| 1 + random.below(most) as u64);
    let limits = Options { first_request, read_ahead, max_window, max_whole, ..Options::new() };
    let hub = Hub { token: Token::new(SECRET), ..Hub::default() };
    let client = Client::new(Options { hub, parallel: 1, retries: 2, max_redirects: 2, ..limits })?;
    let location = location::Location::parse(word(LOCATIONS, random))?;
    let server = Server::new(random.clone());
    let versions = SERVER.lock().expect("one thread").insert(server).versions.clone();
    let random = &mut Random::new(random.number());
    let model = RemoteModel::open(&client, &location)?;
    for file in model.files() {
        let mut seen = vec![(0, file.header().to_vec())];
        for _ in 0..random.below(20) {
            let after = seen.last().map_or(0, |(start, bytes)| start + bytes.len());
            seen.extend(read(file, after, random).map_err(|error| check(&error)));
        }
        let is_of =
            |file: &Vec<u8>| seen.iter().all(|(at, part)| file.iter().skip(*at).take(part.len()).eq(part));
        assert!(versions.iter().any(is_of), "bytes of no version");
    }
    model.config().map(drop)
}

fuzz_target!(|input: &[u8]| run(&mut Random::of(input)).unwrap_or_else(|error| check(&error)));
