//! Options of a client.

use crate::hub::Hub;
use crate::proxy::Proxies;
use std::path::PathBuf;
use std::time::Duration;

/// How models are read. All limits are against servers that are broken or hostile.
///
/// ```
/// use safetensors_remote::Options;
///
/// let options = Options { max_header: 100_000_000, ..Options::from_env() };
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The bytes of the first request: 100,000. Nearly every header is in them.
    pub first_request: u64,
    /// The longest header in bytes: 25,000,000.
    pub max_header: u64,
    /// The longest index in bytes: 250,000,000. It is read to the heap.
    pub max_index: u64,
    /// The fewest bytes that a request for data asks for: 64 KiB. When they are read to the end and more
    /// follow, the next request asks for twice as many.
    pub read_ahead: u64,
    /// The most bytes that a request asks for, unless they were [announced](crate::SharedFile::expect) or fit
    /// into the buffer of one read: 64 MiB.
    pub max_window: u64,
    /// A server that does not support ranges: the longest file that is read entirely, and the most bytes that
    /// are skipped in a longer one: 16,000,000.
    pub max_whole: u64,
    /// How often a request is repeated after 429, 500, 502, 503, 504, a timeout or a lost connection: 4.
    pub retries: u32,
    /// The delay before the first repetition, which doubles each time: 500 ms.
    pub retry_delay: Duration,
    /// The longest delay, also if a server asks for a longer one, which is then an error: 30 s.
    pub max_retry_delay: Duration,
    /// The limit for a connection: 10 s.
    pub connect_timeout: Duration,
    /// The longest time without a byte: 30 s.
    pub idle_timeout: Duration,
    /// The limit for a header, an index or `config.json`, with all repetitions: 120 s.
    pub header_timeout: Duration,
    /// The most redirects in a row: 10.
    pub max_redirects: u32,
    /// How many headers of shards are read at the same time: 8.
    pub parallel: usize,
    /// The proxies.
    pub proxies: Proxies,
    /// A file of certificates in PEM that replaces the roots of Mozilla.
    pub ca_file: Option<PathBuf>,
    /// The Hub of Hugging Face, its cache and the token.
    pub hub: Hub,
}

impl Options {
    /// The default options, which read no environment: without proxies, token or cache.
    pub fn new() -> Self {
        Self {
            first_request: 100_000,
            max_header: 25_000_000,
            max_index: 250_000_000,
            read_ahead: 1 << 16,
            max_window: 1 << 26,
            max_whole: 16_000_000,
            retries: 4,
            retry_delay: Duration::from_millis(500),
            max_retry_delay: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            header_timeout: Duration::from_secs(120),
            max_redirects: 10,
            parallel: 8,
            proxies: Proxies::default(),
            ca_file: None,
            hub: Hub::default(),
        }
    }

    /// The default options, with what the environment says: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`,
    /// `NO_PROXY`, `SSL_CERT_FILE`, and what [`Hub::from_variables`] reads.
    pub fn from_env() -> Self {
        Self::from_variables(&|name| std::env::var(name).ok())
    }

    /// As [`from_env`](Self::from_env), with these variables instead of the environment.
    pub fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            proxies: Proxies::from_variables(variable),
            ca_file: variable("SSL_CERT_FILE").filter(|path| !path.is_empty()).map(PathBuf::from),
            hub: Hub::from_variables(variable),
            ..Self::new()
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}
