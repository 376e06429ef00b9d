//! The Hub of Hugging Face: its address, its token, its local cache.

use crate::location::HubFile;
use crate::url::Url;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The address of the Hub.
pub const ENDPOINT: &str = "https://huggingface.co";

/// The files that are tried for a model without a path, in this order.
pub const CANDIDATES: [&str; 3] =
    ["model.safetensors", "model.safetensors.index.json", "adapter_model.safetensors"];

/// A token. It is never shown, not even by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Creates a token, without the white space around it. Returns `None` for a text that cannot be one.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_valid = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_valid.then(|| Self(text.to_owned()))
    }

    /// Returns the value of the header `Authorization`.
    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The Hub, as it is configured on this computer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hub {
    /// Its address.
    pub endpoint: String,
    /// The token, which is sent only to this address.
    pub token: Option<Token>,
    /// The directory of the cache.
    pub cache: Option<PathBuf>,
    /// Whether only the cache may be used.
    pub offline: bool,
}

impl Default for Hub {
    /// The public Hub, without token and cache.
    fn default() -> Self {
        Self { endpoint: ENDPOINT.into(), token: None, cache: None, offline: false }
    }
}

impl Hub {
    /// Reads the same variables as the Python package `huggingface_hub`: `HF_ENDPOINT`; `HF_TOKEN` or the
    /// file of the token in `HF_TOKEN_PATH` or `HF_HOME`, unless `HF_HUB_DISABLE_IMPLICIT_TOKEN` is set;
    /// `HF_HUB_CACHE`, `HF_HOME` or `XDG_CACHE_HOME`; `HF_HUB_OFFLINE`.
    pub fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| variable(name).filter(|value| !value.is_empty());
        let home = || get("HOME").or_else(|| get("USERPROFILE")).map(PathBuf::from);
        let caches =
            || get("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| home().map(|home| home.join(".cache")));
        let hub_home = get("HF_HOME")
            .map(|path| expand(path, home()))
            .or_else(|| caches().map(|caches| caches.join("huggingface")));
        let cache = get("HF_HUB_CACHE").or_else(|| get("HUGGINGFACE_HUB_CACHE"));
        let cache = cache
            .map(|path| expand(path, home()))
            .or_else(|| hub_home.as_ref().map(|directory| directory.join("hub")));
        let token_file = get("HF_TOKEN_PATH")
            .map(|path| expand(path, home()))
            .or_else(|| hub_home.map(|directory| directory.join("token")));
        let in_file = || token_file.and_then(|path| fs::read_to_string(path).ok());
        let is_set = |name| get(name).is_some_and(|value| is_true(&value));
        let token = match is_set("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
            true => None,
            false => get("HF_TOKEN").or_else(|| get("HUGGING_FACE_HUB_TOKEN")).or_else(in_file),
        };
        let endpoint = get("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.into());
        Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            token: token.as_deref().and_then(Token::new),
            cache,
            offline: is_set("HF_HUB_OFFLINE"),
        }
    }

    /// Returns the URL of a file of a model.
    ///
    /// # Errors
    /// The reason why `HF_ENDPOINT` is not a URL.
    pub fn url(&self, file: &HubFile, path: &str) -> Result<Url, &'static str> {
        let endpoint = Url::parse(&self.endpoint).map_err(|_| "HF_ENDPOINT is not a URL of http or https")?;
        let directory = file.repository().split('/').chain(["resolve", file.revision()]);
        Ok(endpoint.below(directory.chain(path.split('/'))))
    }

    /// Returns the token if this URL may get it: one with the scheme, host and port of the Hub.
    pub(crate) fn token_for(&self, url: &Url) -> Option<&Token> {
        self.token.as_ref().filter(|_| self.has(url))
    }

    /// Returns whether a URL has the scheme, host and port of the Hub.
    pub(crate) fn has(&self, url: &Url) -> bool {
        Url::parse(&self.endpoint).is_ok_and(|endpoint| endpoint.has_origin_of(url))
    }

    /// Returns the path of a file that is in the cache. Without a path in the location, that is the first of
    /// [`CANDIDATES`] that is there; an index counts only if all its shards are there, too.
    pub fn cached(&self, file: &HubFile) -> Option<PathBuf> {
        let snapshot = self.snapshot(file)?;
        match file.path() {
            Some(path) => existing(snapshot.join(path)),
            None => CANDIDATES.iter().find_map(|name| existing(snapshot.join(name))),
        }
    }

    /// The directory of a revision: a branch or tag that `refs` knows, or a commit.
    fn snapshot(&self, file: &HubFile) -> Option<PathBuf> {
        let name = format!("models--{}", file.repository().replace('/', "--"));
        let directory = self.cache.as_ref()?.join(name);
        let reference = directory.join("refs").join(file.revision());
        let commit = fs::read_to_string(reference).unwrap_or_else(|_| file.revision().to_owned());
        let commit = commit.trim();
        let is_name = !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_name.then(|| directory.join("snapshots").join(commit)).filter(|path| path.is_dir())
    }
}

fn existing(path: PathBuf) -> Option<PathBuf> {
    let is_index = path.to_string_lossy().ends_with(".index.json");
    (path.is_file() && (!is_index || has_all_shards(&path))).then_some(path)
}

fn has_all_shards(index: &Path) -> bool {
    use safetensors_files::shards::ShardIndex;
    let directory = index.parent().unwrap_or(Path::new(""));
    ShardIndex::open(index, &crate::LIMITS)
        .is_ok_and(|index| index.shards().all(|shard| directory.join(shard).is_file()))
}

fn is_true(value: &str) -> bool {
    ["1", "on", "yes", "true"].iter().any(|word| word.eq_ignore_ascii_case(value))
}

/// Replaces a `~` at the beginning.
fn expand(path: String, home: Option<PathBuf>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}
