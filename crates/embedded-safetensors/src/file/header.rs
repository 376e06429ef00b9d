//! The header of a file, proven, and with its names and shapes on the heap.

use super::disk::{Handle, read_up_to};
use super::error::FileFault;
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, MAX_HEADER_LEN};
use crate::header::entry::Entry;
use crate::header::progress::Progress;
use crate::header::{Event, HeaderParser};
use crate::util::bytes::low_u32;
use crate::util::fingerprint::Fingerprint;
use crate::util::top_k::Slot;
use crate::validate::{HeaderCheck, Summary, check_names};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::string::String;
use std::vec;
use std::vec::Vec;

/// To look for names that occur twice.
const TEXT: usize = 4096;

/// No tensor takes less of a header.
const ENTRY: usize = 50;

pub(super) type Pairs = BTreeMap<String, String>;

/// A tensor of a file.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) dtype: Dtype,
    pub(super) dims: Vec<u64>,
    /// Which of the draft's files it is in.
    pub(super) source: usize,
    /// Counted from the start of the data.
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// What a header says.
#[derive(Default)]
pub(super) struct Contents {
    /// In the order of the header.
    pub(super) tensors: Vec<(String, Held)>,
    pub(super) metadata: Option<Pairs>,
    /// A key has occurred twice.
    has_twin_keys: bool,
}

impl Contents {
    /// Whether a key has occurred twice, or two names have the same hash.
    fn may_have_twins(&self) -> bool {
        let chance = RandomState::new();
        let mut hashes: Vec<u64> = self.tensors.iter().map(|(name, _)| chance.hash_one(name)).collect();
        hashes.sort_unstable();
        self.has_twin_keys || !hashes.is_sorted_by(|one, next| one < next)
    }
}

/// The bytes of a file up to where its data begin, or as many of them as there are. Not judged yet.
///
/// # Errors
/// Those of the system.
pub(super) fn read(file: &dyn Handle) -> Result<Vec<u8>, FileFault> {
    let cannot = |error| FileFault::system("read", error);
    let len = file.stat().map_err(cannot)?.version.len;
    let mut prefix = [0; 8];
    let present = read_up_to(file, 0, &mut prefix).map_err(cannot)?;
    let header_len = Some(u64::from_le_bytes(prefix)).filter(|&len| present == 8 && len <= MAX_HEADER_LEN);
    let end = header_len.map_or(present as u64, |header_len| len.min(8 + header_len));
    let mut bytes = vec![0; usize::try_from(end).unwrap_or(0)];
    let present = read_up_to(file, 0, &mut bytes).map_err(cannot)?;
    bytes.truncate(present);
    Ok(bytes)
}

pub(super) fn fingerprint(bytes: &[u8]) -> u64 {
    let mut fingerprint = Fingerprint::new();
    fingerprint.push(0, bytes);
    fingerprint.finish(low_u32(bytes.len() as u64))
}

/// As [`contents`], for who wants to know nothing more.
pub(crate) fn prove(bytes: &[u8], file_len: u64) -> Result<Summary, Error> {
    contents(bytes, file_len).map(|(summary, _)| summary)
}

/// Judges what was [read](read) of a file of this length, names that occur twice included, and gives what it says.
///
/// # Errors
/// As [`check`](crate::validate::check()).
pub(super) fn contents(bytes: &[u8], file_len: u64) -> Result<(Summary, Contents), Error> {
    let summary = match prove_layout(bytes, file_len, &mut []) {
        Err(error) if error.kind == ErrorKind::OutOfOrder => {
            prove_layout(bytes, file_len, &mut slots(bytes.len()))?
        }
        verdict => verdict?,
    };
    let contents = parse(bytes)?;
    if contents.may_have_twins() {
        // Whether there are some, which they are, and where.
        check_names(bytes, [0, 0], &mut slots(bytes.len()), &mut vec![0; TEXT])?;
    }
    Ok((summary, contents))
}

/// One for each tensor that such a header can have: with fewer, it is read again for every so many.
pub(super) fn slots(header_len: usize) -> Vec<Slot> {
    vec![Slot::EMPTY; 2 + header_len / ENTRY]
}

fn prove_layout(bytes: &[u8], file_len: u64, slots: &mut [Slot]) -> Result<Summary, Error> {
    let mut check = HeaderCheck::new(Some(file_len), slots);
    loop {
        match check.push(&mut &bytes[..])? {
            Progress::Rewind => {}
            Progress::NeedInput => break check.end_of_input()?,
            Progress::Done => break,
        }
    }
    check.summary().ok_or(ErrorKind::Changed.at(check.position()))
}

/// What is quoted at this place of a sound header, escapes as they stand there.
pub(super) fn spelled_at(bytes: &[u8], at: u64) -> String {
    let quoted = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[]);
    let mut is_escaped = false;
    let text = quoted.iter().skip(1).take_while(|&&byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        !is_end
    });
    String::from_utf8_lossy(&text.copied().collect::<Vec<u8>>()).into_owned()
}

/// What a header says that is proven.
///
/// # Errors
/// None, where it is.
fn parse(bytes: &[u8]) -> Result<Contents, Error> {
    let (mut parser, mut input) = (HeaderParser::new(), bytes);
    let mut reading = Reading::default();
    loop {
        while let Some(entry) = parser.next_usual(&mut input) {
            reading.take(&entry);
        }
        match parser.next(&mut input)? {
            Event::NeedInput => return parser.end_of_input().map(|()| reading.contents),
            Event::HeaderEnd => return Ok(reading.contents),
            event => reading.see(event),
        }
    }
}

/// The parser's events, put together.
#[derive(Default)]
struct Reading {
    contents: Contents,
    /// Pieces of text may end inside a character.
    name: Vec<u8>,
    text: Vec<u8>,
    dtype: Option<Dtype>,
    dims: Vec<u64>,
    begin: u64,
    end: u64,
}

impl Reading {
    fn see(&mut self, event: Event<'_>) {
        match event {
            Event::Name(piece) | Event::Key(piece) => self.name.extend(piece.as_bytes()),
            Event::Value(piece) => self.text.extend(piece.as_bytes()),
            Event::Dtype(dtype) => self.dtype = Some(dtype),
            Event::Dim(dim) => self.dims.push(dim),
            Event::Begin(begin) => self.begin = begin,
            Event::End(end) => self.end = end,
            Event::TensorEnd => self.end_tensor(),
            Event::Metadata => {
                self.name.clear();
                self.contents.metadata = Some(Pairs::new());
            }
            Event::MetadataNull => self.contents.metadata = None,
            Event::ValueEnd => self.end_pair(),
            _ => {}
        }
    }

    /// A tensor that was seen all at once.
    fn take(&mut self, entry: &Entry<'_>) {
        let (name, info) = (entry.name().into(), &entry.info);
        let (begin, end) = (info.begin(), info.end());
        self.keep(
            name,
            Held { dtype: info.dtype(), dims: info.shape().dims().into(), source: 0, begin, end },
        );
    }

    fn keep(&mut self, name: String, held: Held) {
        self.contents.tensors.push((name, held));
    }

    fn end_tensor(&mut self) {
        let name = text(&mut self.name);
        let dims = core::mem::take(&mut self.dims);
        let (begin, end) = (self.begin, self.end);
        if let Some(dtype) = self.dtype.take() {
            self.keep(name, Held { dtype, dims, source: 0, begin, end });
        }
    }

    fn end_pair(&mut self) {
        let (key, value) = (text(&mut self.name), text(&mut self.text));
        let before = self.contents.metadata.get_or_insert_default().insert(key, value);
        self.contents.has_twin_keys |= before.is_some();
    }
}

/// The parser has proven every text that it completes.
fn text(bytes: &mut Vec<u8>) -> String {
    String::from_utf8(core::mem::take(bytes)).unwrap_or_default()
}
