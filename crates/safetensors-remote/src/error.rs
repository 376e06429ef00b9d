//! Errors: one sentence, with the URL.

use safetensors_files::EditErrorKind;
use safetensors_files::shards::ShardErrorKind::MissingShard;
use std::fmt;
use std::io;
use std::time::Duration;

/// Why a model cannot be read from a server.
///
/// Its `Display` is one sentence with the URL, which never contains a query or a token. `?` also converts it
/// to an [`io::Error`].
///
/// *Memory*: at most 64 bytes, and its texts on the heap.
#[derive(Debug)]
pub struct RemoteError {
    url: String,
    /// The shard that has the error.
    shard: Option<Box<str>>,
    attempts: u32,
    kind: Box<RemoteErrorKind>,
}

impl RemoteError {
    pub(crate) fn new(url: impl fmt::Display, kind: RemoteErrorKind) -> Self {
        Self { url: url.to_string(), shard: None, attempts: 1, kind: Box::new(kind) }
    }

    pub(crate) fn after(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }

    /// The error of a shard.
    pub(crate) fn of_shard(self, shard: String) -> Self {
        Self { shard: Some(shard.into()), ..self }
    }

    /// Returns the reason.
    pub fn kind(&self) -> &RemoteErrorKind {
        &self.kind
    }

    /// Returns the URL without its query, or the location as it was given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the name of the shard that has the error, as in the index. There is none if the error is one
    /// of the index, or of a model in one file.
    pub fn shard(&self) -> Option<&str> {
        self.shard.as_deref()
    }

    /// Returns whether the server has no such file.
    pub fn is_missing(&self) -> bool {
        matches!(*self.kind, RemoteErrorKind::Status { status: 404 | 410, .. })
    }

    /// Returns how often the request was sent before this was reported.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }
}

/// The reason of a [`RemoteError`].
#[derive(Debug)]
#[non_exhaustive]
pub enum RemoteErrorKind {
    /// The location is neither a URL nor a model of the Hub, for this reason.
    Location(&'static str),
    /// The Hub is needed, but `HF_HUB_OFFLINE` is set.
    Offline,
    /// No file of the model has one of the names that are tried.
    NoModel {
        /// These names.
        tried: Vec<&'static str>,
        /// The revision, which may not exist, unless it is `main`.
        revision: Option<String>,
    },
    /// The configuration of the client cannot be used, for this reason.
    Setup(String),
    /// [`Client::stop`](crate::Client::stop) was called.
    Stopped,
    /// There is no memory for so many bytes. Some of them have arrived.
    Memory(u64),
    /// No connection, or one that was lost, for this reason.
    Network(String),
    /// The server did not answer in time.
    Timeout {
        /// What was waited for.
        waiting_for: &'static str,
        /// For how long.
        limit: Duration,
    },
    /// The reply has a status that is not a success.
    Status {
        /// The status.
        status: u16,
        /// Whether a token was sent.
        with_token: bool,
        /// Whether the file is one of the Hub.
        is_on_hub: bool,
    },
    /// The server asks to wait for longer than the limit.
    Wait {
        /// The status.
        status: u16,
        /// What `Retry-After` says, in seconds.
        seconds: u64,
        /// [`Options::max_retry_delay`](crate::Options::max_retry_delay).
        limit: Duration,
    },
    /// A redirect that is not followed, for this reason.
    Redirect(String),
    /// The reply is not HTTP, or not the requested bytes, for this reason.
    Reply(String),
    /// The file is no longer the one that was opened: this differs.
    Changed(String),
    /// The server does not support ranges, and so the file cannot be read at this offset.
    NoRanges {
        /// The requested offset.
        offset: u64,
        /// The offset up to which the file has been read.
        position: u64,
        /// [`Options::max_whole`](crate::Options::max_whole).
        limit: u64,
    },
    /// The server sent a web page instead of the file.
    WebPage,
    /// The header exceeds [`Options::max_header`](crate::Options::max_header).
    HeaderTooLarge {
        /// Its length.
        len: u64,
        /// The limit.
        limit: u64,
    },
    /// A text, as an index, exceeds this limit in bytes.
    TooLarge(u64),
    /// The file ends before its header does.
    ShortHeader {
        /// The length of the header, with the 8 bytes before it.
        needed: u64,
        /// The length of the file.
        len: u64,
    },
    /// The header is invalid.
    Format(embedded_safetensors::Error),
    /// The index is invalid, or does not match its shards.
    Index(EditErrorKind),
    /// `config.json` is not valid JSON, for this reason.
    Config(String),
}

impl RemoteErrorKind {
    pub(crate) fn changed(what: &str, before: impl fmt::Display, now: impl fmt::Display) -> Self {
        Self::Changed(format!("its {what} was {before} and is {now}"))
    }

    /// The reply or its part ends elsewhere than announced.
    pub(crate) fn wrong_length(announced: u64, found: u64) -> Self {
        Self::Reply(format!("it announced {announced} bytes and has {found}"))
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.url, self.kind)?;
        if self.attempts > 1 { write!(f, " (after {} attempts)", self.attempts) } else { Ok(()) }
    }
}

impl fmt::Display for RemoteErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Location(reason) => write!(f, "not a location of a model: {reason}"),
            Self::Offline => f.write_str("not in the local cache, and HF_HUB_OFFLINE forbids to download it"),
            Self::NoModel { tried, revision } => {
                write!(f, "no model here: tried {}", tried.join(", "))?;
                revision.iter().try_for_each(|name| write!(f, "; is there a revision {name:?}?"))
            }
            Self::Setup(reason) => f.write_str(reason),
            Self::Stopped => f.write_str("stopped"),
            Self::Memory(bytes) => write!(f, "no memory for {bytes} bytes"),
            Self::Network(reason) => write!(f, "the connection failed: {reason}"),
            Self::Timeout { waiting_for, limit } => {
                write!(f, "the server is too slow: waited {} s for {waiting_for}", limit.as_secs_f64())
            }
            Self::Status { status, with_token, is_on_hub } => {
                write_status(f, *status, *with_token, *is_on_hub)
            }
            Self::Wait { status, seconds, limit } => {
                let limit = limit.as_secs_f64();
                write!(f, "the server answers {status} and asks to wait {seconds} s, the limit is {limit} s")
            }
            Self::Redirect(reason) => write!(f, "a redirect is not followed: {reason}"),
            Self::Reply(reason) => write!(f, "the reply of the server is invalid: {reason}"),
            Self::WebPage => f.write_str("the server sent a web page instead of the file"),
            Self::Changed(what) => write!(f, "the file changed while it was read: {what}"),
            Self::NoRanges { offset, position, limit } => write!(
                f,
                "the server does not support ranges: byte {offset} cannot be read after byte {position}, \
                    only files of at most {limit} bytes are read entirely"
            ),
            Self::HeaderTooLarge { len, limit } => {
                write!(f, "the header claims {len} bytes, the limit is {limit}")
            }
            Self::TooLarge(limit) => write!(f, "the file has more than {limit} bytes"),
            Self::ShortHeader { needed, len } => {
                write!(f, "the file has {len} bytes, but its header ends at byte {needed}")
            }
            Self::Format(error) => write!(f, "{error}"),
            Self::Index(error) => write!(f, "the index is invalid: {error}"),
            Self::Config(reason) => write!(f, "config.json is invalid: {reason}"),
        }
    }
}

fn write_status(f: &mut fmt::Formatter<'_>, status: u16, with_token: bool, is_on_hub: bool) -> fmt::Result {
    let name = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    write!(f, "the server answers {status}")?;
    if let Some(name) = name {
        write!(f, " {name}")?;
    }
    match (status, with_token) {
        // The Hub answers so if there is no model of this name, too.
        (401, false) if is_on_hub => {
            f.write_str("; the name may be wrong, and a private or gated model needs a token in HF_TOKEN")
        }
        (403, false) if is_on_hub => f.write_str("; a private or gated model needs a token in HF_TOKEN"),
        (401 | 403, true) => f.write_str("; the token has no access to it"),
        _ => Ok(()),
    }
}

impl std::error::Error for RemoteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.kind {
            RemoteErrorKind::Format(error) => Some(error),
            _ => None,
        }
    }
}

impl From<RemoteError> for io::Error {
    fn from(error: RemoteError) -> Self {
        let kind = match &*error.kind {
            RemoteErrorKind::Status { status: 404 | 410, .. }
            | RemoteErrorKind::NoModel { .. }
            | RemoteErrorKind::Index(EditErrorKind::Shards(MissingShard { .. })) => io::ErrorKind::NotFound,
            RemoteErrorKind::Status { status: 401 | 403, .. } => io::ErrorKind::PermissionDenied,
            RemoteErrorKind::Location { .. } | RemoteErrorKind::Setup { .. } => io::ErrorKind::InvalidInput,
            RemoteErrorKind::Network { .. } => io::ErrorKind::ConnectionAborted,
            RemoteErrorKind::Timeout { .. } => io::ErrorKind::TimedOut,
            RemoteErrorKind::Memory { .. } => io::ErrorKind::OutOfMemory,
            RemoteErrorKind::NoRanges { .. } => io::ErrorKind::Unsupported,
            RemoteErrorKind::Offline => io::ErrorKind::NetworkDown,
            RemoteErrorKind::Format(_)
            | RemoteErrorKind::Index(_)
            | RemoteErrorKind::ShortHeader { .. }
            | RemoteErrorKind::Config { .. } => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
