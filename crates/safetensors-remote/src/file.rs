//! A file on a server.

use super::Body;
use crate::client::{Answer, Client};
use crate::error::{RemoteError, RemoteErrorKind};
use crate::exchange::fetch::{Deadline, Fetch, HEADER, Route, Step};
use crate::exchange::{Failure, Version};
use crate::url::Url;
use crate::window::{Open, Plan, Window};
use embedded_safetensors::header::MAX_HEADER_LEN;
use embedded_safetensors::validate::{Progress, SortSlot, Validator};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The bytes after which a connection counts as working again.
const PROGRESS: u64 = 1 << 16;

/// The bytes of the length of a header.
const PREFIX: u64 = 8;

/// How long the end of a reply may come after its last byte.
const TAIL: Duration = Duration::from_secs(1);

/// The memory to sort the tensors of a header with.
pub(super) const SLOTS: usize = 256;

/// A safetensors file on a server whose header has been read: with one request of 100,000 bytes, or with two
/// if it is longer. [`SharedFile`](crate::SharedFile) reads the rest.
///
/// Every reply is compared with the first one by its `ETag`, `Last-Modified` and length, so a file that
/// changes is an error.
///
/// *Memory*: the header, at least the first request, and a piece of 64 KiB.
pub struct RemoteFile {
    client: Client,
    route: Route,
    version: Version,
    has_ranges: bool,
    /// The first bytes of the file.
    beginning: Arc<Vec<u8>>,
    /// The last piece of the open reply, and its offset.
    piece: Vec<u8>,
    piece_start: u64,
    reply: Option<OpenReply>,
    window: Window,
    /// The end of the last byte that has come, ever.
    frontier: u64,
    /// Requests that failed in a row, and the new bytes that have come since the last one.
    failures: u32,
    progress: u64,
    deadline: Option<Deadline>,
}

struct OpenReply {
    body: Body,
    open: Open,
}

impl RemoteFile {
    /// Opens a file at a URL, and reads its header for a validator: a file that ends before its header does,
    /// whose header is longer than the format allows, or that is a web page, is no error.
    ///
    /// # Errors
    /// Those of the server and the connection, [`RemoteErrorKind::HeaderTooLarge`].
    pub fn open(client: &Client, url: &Url) -> Result<Self, RemoteError> {
        let mut file = Self::connect(client, url, HEADER)?;
        match file.read_header() {
            Err(error) if !is_for_a_validator(error.kind()) => return Err(error),
            _ => file.deadline = None,
        }
        Ok(file)
    }

    /// Opens any file, and waits for its first bytes. There is a limit for all that is read to its beginning,
    /// which is `what`.
    pub(super) fn connect(client: &Client, url: &Url, what: &'static str) -> Result<Self, RemoteError> {
        let options = client.options();
        let first = crate::exchange::Span::between(0, options.first_request.max(PREFIX));
        let deadline = Deadline::after(options.header_timeout, what);
        let fetch = Fetch::new(options, Route::new(url.clone()), Some(first), None);
        let answer = client.ask(fetch.after(0, deadline))?;
        let (route, version) = (answer.route.clone(), answer.reply.version.clone());
        let mut file = Self::at_start(client.clone(), route, version, answer.reply.has_range);
        file.deadline = deadline;
        file.accept(answer);
        Ok(file)
    }

    /// Reads the beginning up to the end of the header; of a reply with the range, all that was requested.
    fn read_header(&mut self) -> Result<(), RemoteError> {
        let first = self.client.options().first_request;
        let is_short = self.version.total.is_some_and(|total| total <= first);
        let requested = if self.has_ranges || is_short { first } else { PREFIX };
        self.read_beginning(requested.max(PREFIX))?;
        let end = self.header_end().map_err(|kind| self.error(kind))?;
        self.read_beginning(end)?;
        self.check_header()?;
        self.end_reply(self.beginning.len() as u64)
    }

    /// Appends to the beginning until it has this many bytes, or the file ends.
    fn read_beginning(&mut self, target: u64) -> Result<(), RemoteError> {
        loop {
            let len = self.beginning.len() as u64;
            if len >= target {
                return Ok(());
            }
            self.window.expected = Some(len..target);
            if !self.fill(len, 1)? {
                return Ok(());
            }
            let start = usize::try_from(len - self.piece_start).unwrap_or(usize::MAX);
            Arc::make_mut(&mut self.beginning).extend_from_slice(self.piece.get(start..).unwrap_or(&[]));
        }
    }

    /// Reads all of an index or another text, of at most this many bytes.
    ///
    /// # Errors
    /// [`RemoteErrorKind::TooLarge`]; those of the server and the connection.
    pub fn into_text(mut self, limit: u64) -> Result<Vec<u8>, RemoteError> {
        if self.version.total.is_some_and(|total| total > limit) {
            return Err(self.error(RemoteErrorKind::TooLarge(limit)));
        }
        self.read_beginning(limit.saturating_add(1))?;
        let len = self.beginning.len() as u64;
        if len > limit {
            Err(self.error(RemoteErrorKind::TooLarge(limit)))
        } else {
            Ok(Arc::unwrap_or_clone(self.beginning))
        }
    }

    /// Makes the piece contain the byte at this offset. Returns false if the file ends before it.
    fn fill(&mut self, offset: u64, wanted: u64) -> Result<bool, RemoteError> {
        loop {
            if self.in_piece(offset).is_some() {
                return Ok(true);
            }
            if self.version.total.is_some_and(|total| offset >= total) {
                return Ok(false);
            }
            let open = self.reply.as_ref().map(|reply| reply.open);
            let options = self.client.options();
            let plan = self.window.plan((offset, wanted), open, self.has_ranges, &self.version, options);
            match plan {
                Plan::Continue => self.next_piece()?,
                Plan::Ask(span) => {
                    self.end_reply(offset)?;
                    let fetch =
                        Fetch::new(self.client.options(), self.route.clone(), span, Some(&self.version));
                    let fetch = fetch.after(self.failures, self.deadline);
                    let answer = self.client.ask(fetch)?;
                    self.check_ranges(&answer)?;
                    self.accept(answer);
                }
                Plan::Fail(kind) => return Err(self.error(kind)),
            }
        }
    }

    /// Reads the next piece of the open reply. If the connection is lost, waits before the next request.
    fn next_piece(&mut self) -> Result<(), RemoteError> {
        let Some(reply) = &mut self.reply else { return Ok(()) };
        let outcome = reply.body.next(&mut self.piece);
        let delay = match outcome {
            Ok(len) => self.arrived(len as u64)?,
            Err(failure) => Some(self.lost(failure)?),
        };
        self.check_deadline()?;
        if let Some(delay) = delay {
            let waited = self.client.transport().wait(delay);
            waited.map_err(|failure| self.error(failure.kind))?;
        }
        Ok(())
    }

    /// Before the bytes at this offset are read: drops a reply that cannot have them. After the last byte of
    /// a reply nothing may follow; once its end has come, too, its connection can be used again.
    fn end_reply(&mut self, offset: u64) -> Result<(), RemoteError> {
        let is_needed = |open: Open| open.end != Some(open.position) && open.position == offset;
        let Some(reply) = self.reply.take_if(|reply| !is_needed(reply.open)) else { return Ok(()) };
        let Open { position, end } = reply.open;
        let mut more = 0;
        if end == Some(position) {
            let limit = TAIL.min(self.client.options().idle_timeout);
            more = reply.body.surplus(limit) as u64;
        }
        let (announced, found) = (position, position.saturating_add(more));
        if more == 0 { Ok(()) } else { Err(self.error(RemoteErrorKind::wrong_length(announced, found))) }
    }

    /// After the last read: the connection of a reply that has been read to its end can be used again.
    pub(super) fn finish(&mut self) -> Result<(), RemoteError> {
        self.piece = Vec::new();
        self.end_reply(u64::MAX)
    }

    /// Returns bytes from this offset on, of which so many are wanted: none at the end of the file.
    pub(super) fn next_bytes(&mut self, offset: u64, wanted: u64) -> Result<&[u8], RemoteError> {
        if offset >= self.beginning.len() as u64 {
            self.read_short_file(offset)?;
        }
        if offset < self.beginning.len() as u64 {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            return Ok(self.beginning.get(start..).unwrap_or(&[]));
        }
        let is_there = self.fill(offset, wanted)?;
        Ok(self.in_piece(offset).filter(|_| is_there).unwrap_or(&[]))
    }

    /// Reads at most as many bytes as fit, and returns how many: none at the end of the file.
    pub(super) fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, RemoteError> {
        match buffer.len() {
            0 => Ok(0),
            len => Ok(copy(buffer, self.next_bytes(offset, len as u64)?)),
        }
    }

    /// Reads a file that is short and whose server does not support ranges entirely, unless it ends before
    /// this offset.
    fn read_short_file(&mut self, offset: u64) -> Result<(), RemoteError> {
        match self.version.total {
            Some(total) if !self.has_ranges && offset < total && total <= self.client.options().max_whole => {
                self.read_beginning(total)
            }
            _ => Ok(()),
        }
    }

    /// Returns a second reader of the same version of the file, with a position of its own. Nothing is
    /// requested, and both share the first bytes.
    pub(super) fn another(&self) -> Self {
        let (client, route, version) = (self.client.clone(), self.route.clone(), self.version.clone());
        let file = Self::at_start(client, route, version, self.has_ranges);
        Self { beginning: self.beginning.clone(), ..file }
    }

    /// Returns a reader that has received nothing.
    fn at_start(client: Client, route: Route, version: Version, has_ranges: bool) -> Self {
        Self {
            client,
            route,
            version,
            has_ranges,
            beginning: Arc::default(),
            piece: Vec::new(),
            piece_start: 0,
            reply: None,
            window: Window::default(),
            frontier: 0,
            failures: 0,
            progress: 0,
            deadline: None,
        }
    }

    /// Returns the length that the file has according to its header, for a server that does not tell it.
    ///
    /// # Errors
    /// [`RemoteErrorKind::Format`]: the header is invalid.
    pub fn len_by_header(&self) -> Result<u64, RemoteErrorKind> {
        let mut slots = [SortSlot::EMPTY; SLOTS];
        let mut validator = Validator::new(None, &mut slots);
        let header = self.header();
        while validator.push(&mut &*header).map_err(RemoteErrorKind::Format)? == Progress::Rewind {}
        Ok(validator.summary().map_or(header.len() as u64, |summary| summary.file_len()))
    }

    /// Returns the URL that was given.
    pub fn url(&self) -> &Url {
        &self.route.start
    }

    /// Returns the first bytes of the file, at least the header with the 8 bytes of its length.
    pub fn beginning(&self) -> &[u8] {
        &self.beginning
    }

    /// Returns the header with the 8 bytes of its length.
    pub fn header(&self) -> &[u8] {
        let len = self.beginning.first_chunk().map_or(0, |prefix| u64::from_le_bytes(*prefix));
        let end = usize::try_from(PREFIX.saturating_add(len)).unwrap_or(usize::MAX);
        self.beginning.get(..end).unwrap_or(&self.beginning)
    }

    /// Returns the length of the file, if the server tells it.
    pub fn len(&self) -> Option<u64> {
        self.version.total
    }

    /// Returns whether the file is known to have no bytes.
    pub fn is_empty(&self) -> bool {
        self.version.total == Some(0)
    }

    /// Returns whether the server supports ranges. Without them the data of a long file can only be read in
    /// sequence.
    pub fn has_ranges(&self) -> bool {
        self.has_ranges
    }

    /// Announces that these bytes of the file are going to be read, so that one request asks for all of them,
    /// and for no more. It stays until the next call.
    pub(super) fn expect(&mut self, range: Range<u64>) {
        self.window.expected = Some(range);
    }

    /// The end of the header, by its length.
    fn header_end(&self) -> Result<u64, RemoteErrorKind> {
        let Some(prefix) = self.beginning.first_chunk() else {
            let len = self.beginning.len() as u64;
            return Err(RemoteErrorKind::ShortHeader { needed: PREFIX, len });
        };
        let (len, limit) = (u64::from_le_bytes(*prefix), self.client.options().max_header);
        if is_web_page(&self.beginning) {
            return Err(RemoteErrorKind::WebPage);
        }
        if len > limit {
            return Err(RemoteErrorKind::HeaderTooLarge { len, limit });
        }
        let needed = PREFIX.saturating_add(len);
        match self.version.total {
            Some(len) if len < needed => Err(RemoteErrorKind::ShortHeader { needed, len }),
            _ => Ok(needed),
        }
    }

    /// Checks that the file has a header, and that it has been read.
    pub(super) fn check_header(&self) -> Result<(), RemoteError> {
        let (end, len) = (self.header_end(), self.beginning.len() as u64);
        let checked = end.and_then(|needed| match len < needed {
            true => Err(RemoteErrorKind::ShortHeader { needed, len }),
            false => Ok(()),
        });
        checked.map_err(|kind| self.error(kind))
    }

    fn error(&self, kind: RemoteErrorKind) -> RemoteError {
        RemoteError::new(&self.route.start, kind)
    }

    /// The bytes of the piece from this offset on.
    pub(super) fn in_piece(&self, offset: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.piece_start)?).ok()?;
        self.piece.get(start..).filter(|bytes| !bytes.is_empty())
    }

    /// Once a server has answered with a range, it has to go on.
    fn check_ranges(&self, answer: &Answer) -> Result<(), RemoteError> {
        let words = |has_range| if has_range { "a range" } else { "a whole file" };
        if self.has_ranges == answer.reply.has_range {
            return Ok(());
        }
        let (before, now) = (words(self.has_ranges), words(answer.reply.has_range));
        Err(self.error(RemoteErrorKind::changed("reply", before, now)))
    }

    fn accept(&mut self, answer: Answer) {
        let Answer { reply, body, route, failures } = answer;
        if failures > self.failures {
            self.progress = 0;
        }
        (self.route, self.failures) = (route, failures);
        let open = Open { position: reply.start, end: reply.end };
        self.reply = Some(OpenReply { body, open });
    }

    /// Counts a piece that has arrived; an empty one is the end of the reply. Returns how long to wait if
    /// that was too early.
    fn arrived(&mut self, len: u64) -> Result<Option<std::time::Duration>, RemoteError> {
        let Some(reply) = &mut self.reply else { return Ok(None) };
        let Open { position, end } = reply.open;
        if len == 0 {
            if end.is_some_and(|end| position < end) {
                let reason = format!("the reply ended at byte {position}");
                let kind = RemoteErrorKind::Network(reason);
                return self.lost(Failure { kind, is_transient: true }).map(Some);
            }
            self.version.total = Some(position);
            self.reply = None;
            return Ok(None);
        }
        reply.open.position = position.saturating_add(len);
        let found = reply.open.position;
        self.piece_start = position;
        // Without ranges, a repetition begins at the first byte: what has come before is no progress.
        let new = if self.has_ranges { len } else { found.saturating_sub(self.frontier) };
        self.frontier = self.frontier.max(found);
        self.progress = self.progress.saturating_add(new);
        if self.progress >= PROGRESS {
            self.failures = 0;
        }
        match end {
            Some(announced) if found > announced => {
                self.reply = None;
                self.piece.clear();
                Err(self.error(RemoteErrorKind::wrong_length(announced, found)))
            }
            _ => Ok(None),
        }
    }

    /// The connection was lost. Returns how long to wait before the rest is requested.
    fn lost(&mut self, failure: Failure) -> Result<std::time::Duration, RemoteError> {
        let rest = |reply: OpenReply| Some(reply.open.position..reply.open.end?);
        self.window.lost = self.reply.take().and_then(rest);
        self.piece.clear();
        let options = self.client.options();
        let fetch = Fetch::new(options, self.route.clone(), None, None);
        let mut fetch = fetch.after(self.failures, self.deadline);
        match fetch.failed(failure) {
            Step::Wait(delay) => {
                (self.failures, self.progress) = (fetch.failures(), 0);
                Ok(delay)
            }
            Step::Fail(error) => Err(error),
            Step::Send | Step::Done(_) => Ok(options.retry_delay),
        }
    }

    fn check_deadline(&self) -> Result<(), RemoteError> {
        match self.deadline {
            Some(deadline) if deadline.left().is_zero() => Err(self.error(deadline.error())),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for RemoteFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteFile")
            .field("url", &self.route.start)
            .field("version", &self.version)
            .field("has_ranges", &self.has_ranges)
            .finish_non_exhaustive()
    }
}

/// Copies as many bytes as fit.
pub(super) fn copy(buffer: &mut [u8], bytes: &[u8]) -> usize {
    let len = buffer.len().min(bytes.len());
    if let (Some(to), Some(from)) = (buffer.get_mut(..len), bytes.get(..len)) {
        to.copy_from_slice(from);
    }
    len
}

/// Whether the header is invalid, and the rest of the file can be read.
fn is_for_a_validator(kind: &RemoteErrorKind) -> bool {
    match kind {
        RemoteErrorKind::ShortHeader { .. } | RemoteErrorKind::WebPage => true,
        RemoteErrorKind::HeaderTooLarge { len, .. } => *len > MAX_HEADER_LEN,
        _ => false,
    }
}

/// Whether a file begins as HTML does.
fn is_web_page(beginning: &[u8]) -> bool {
    let start = beginning.trim_ascii_start();
    let begins = |tag: &[u8]| start.get(..tag.len()).is_some_and(|found| found.eq_ignore_ascii_case(tag));
    // Of a long reply only 8 bytes may have been read.
    begins(b"<!doctyp") || begins(b"<html") || begins(b"<?xml")
}
