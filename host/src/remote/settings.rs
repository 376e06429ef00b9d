//! What one run of the program knows about servers: options, the client, and secrets in URLs.

use crate::failure::NotRead;
use safetensors_remote::{Client, Location, Options};
use std::collections::HashMap;
use std::ffi::OsString;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Options of all commands that read from servers.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Remote models")]
pub struct Settings {
    /// Longest header that is read from a server [default: 25000000]
    #[arg(long, global = true, value_name = "BYTES", hide_short_help = true)]
    max_header: Option<u64>,

    /// How long a server may send nothing [default: 30]
    #[arg(long, global = true, value_name = "SECONDS", hide_short_help = true)]
    server_timeout: Option<NonZero<u64>>,
}

#[derive(Default)]
struct Run {
    settings: Settings,
    client: Option<Client>,
    /// URLs by the text that is shown instead of them.
    secrets: HashMap<String, String>,
}

static RUN: Mutex<Option<Run>> = Mutex::new(None);

fn run() -> MutexGuard<'static, Option<Run>> {
    RUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets an earlier run, and replaces URLs with a password or a query by text that can be shown.
pub fn begin(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut begun = Run::default();
    let words = words.into_iter().map(|word| begun.hide(word)).collect();
    *run() = Some(begun);
    super::find::forget();
    words
}

impl Settings {
    /// Uses these options from now on.
    pub fn apply(&self) {
        if let Some(run) = run().as_mut() {
            run.settings = self.clone();
        }
    }
}

impl Run {
    fn hide(&mut self, word: OsString) -> OsString {
        let Some(url) = word.to_str().filter(|text| Location::is_remote(text)) else { return word };
        let shown = without_secrets(url);
        if shown == url {
            return word;
        }
        // Two URLs that differ only in what is hidden.
        let numbered = (2..).map(|number| format!("{shown}#{number}"));
        let mut names = std::iter::once(shown.clone()).chain(numbered);
        let is_free = |name: &String| self.secrets.get(name).is_none_or(|known| known == url);
        let name = names.find(is_free).unwrap_or(shown);
        self.secrets.insert(name.clone(), url.to_owned());
        name.into()
    }
}

/// A URL without its user name, password, query and fragment.
fn without_secrets(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) if !scheme.eq_ignore_ascii_case("hf") => {
            let rest = rest.split('#').next().unwrap_or(rest);
            let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            let host =
                authority.rsplit_once('@').map_or(authority.to_owned(), |(_, host)| format!("…@{host}"));
            let target = target.split_once('?').map_or(target.to_owned(), |(path, _)| format!("{path}?…"));
            format!("{scheme}://{host}{target}")
        }
        _ => url.to_owned(),
    }
}

/// Whether a path is a URL, or a model of the Hub.
pub fn is_remote(path: &Path) -> bool {
    path.to_str().is_some_and(Location::is_remote)
}

/// The location that a path means, with its secrets.
///
/// # Errors
/// It is not one.
pub fn location(path: &Path) -> Result<Location, NotRead> {
    let shown = path.to_string_lossy();
    let url = run().as_ref().and_then(|run| run.secrets.get(&*shown).cloned());
    Ok(Location::parse(&url.unwrap_or_else(|| shown.into_owned()))?)
}

/// The options: those of the environment, and those that were given.
pub fn options() -> Options {
    let settings = run().as_ref().map(|run| run.settings.clone()).unwrap_or_default();
    let mut options = Options::from_env();
    if let Some(most) = settings.max_header {
        options.max_header = most;
    }
    if let Some(seconds) = settings.server_timeout {
        let limit = Duration::from_secs(seconds.get());
        options.idle_timeout = limit;
        options.connect_timeout = limit;
        options.header_timeout = options.header_timeout.max(limit);
    }
    options
}

/// The client, which is the same in a run.
///
/// # Errors
/// The certificates or the proxy in the environment cannot be used.
pub fn client() -> Result<Client, NotRead> {
    if let Some(client) = run().as_ref().and_then(|run| run.client.clone()) {
        return Ok(client);
    }
    let client = Client::new(options())?;
    if let Some(run) = run().as_mut() {
        return Ok(run.client.get_or_insert(client).clone());
    }
    Ok(client)
}

#[cfg(test)]
mod tests {
    use super::{Run, without_secrets};

    #[test]
    fn secrets_are_not_shown() {
        for (url, shown) in [
            ("https://h/a.safetensors", "https://h/a.safetensors"),
            ("https://user:pass@h/a?key=1#x", "https://…@h/a?…"),
            ("http://h?key=1", "http://h?…"),
            ("http://h/a@b", "http://h/a@b"),
            ("hf://o/n@v1/a", "hf://o/n@v1/a"),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }

    #[test]
    fn urls_that_differ_in_a_secret_have_different_names() {
        let mut run = Run::default();
        let mut name = |url: &str| run.hide(url.into()).into_string().unwrap_or_default();
        assert_eq!(name("http://h/a?1"), "http://h/a?…");
        assert_eq!(name("http://h/a?2"), "http://h/a?…#2");
        assert_eq!(name("http://h/a?1"), "http://h/a?…");
        assert_eq!(name("model.safetensors"), "model.safetensors");
    }
}
