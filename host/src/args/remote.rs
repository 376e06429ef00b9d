//! Options about servers, and secrets in URLs.

use super::size;
use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Command};
use safetensors_remote::{Location, Options};
use std::any::TypeId;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Options of all commands that read from servers.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Remote models")]
pub struct Settings {
    /// Longest header that is read from a server, alone or with KB, MB or MiB [default: 25MB]
    #[arg(long, global = true, value_name = "SIZE", hide_short_help = true, value_parser = size)]
    max_header: Option<u64>,

    /// How long a server may send nothing, up to a day [default: 30]
    #[arg(long, global = true, value_name = "SECONDS", hide_short_help = true)]
    #[arg(value_parser = seconds, allow_negative_numbers = true)]
    server_timeout: Option<u64>,
}

fn seconds(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=86_400).contains(number));
    number.ok_or_else(|| "a number of seconds from 1 to 86400 needed, without a unit".to_owned())
}

/// The URLs with secrets of a run, by the path that is shown instead of them.
#[derive(Default)]
pub struct Secrets(Mutex<HashMap<PathBuf, String>>);

impl Secrets {
    /// The URL behind a path that is shown.
    pub fn url_of(&self, path: &Path) -> Option<String> {
        self.lock().get(path).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hide(&self, path: PathBuf) -> PathBuf {
        let Some(url) = path.to_str().filter(|text| Location::is_remote(text)) else { return path };
        let shown = Location::shown(url);
        if shown == url {
            return path;
        }
        let mut secrets = self.lock();
        // Two URLs that differ only in what is hidden.
        let numbered = (2..).map(|number| format!("{shown}#{number}"));
        let mut names = std::iter::once(shown.clone()).chain(numbered).map(PathBuf::from);
        let is_free = |name: &PathBuf| secrets.get(name).is_none_or(|known| known == url);
        let name = names.find(is_free).unwrap_or_default();
        secrets.insert(name.clone(), url.to_owned());
        name
    }
}

/// Whether a path is a URL, or a model of the Hub.
pub fn is_remote(path: &Path) -> bool {
    path.to_str().is_some_and(Location::is_remote)
}

impl Settings {
    /// The options of the environment, and those that were given.
    pub fn options(&self) -> Options {
        let mut options = Options::from_env();
        options.max_header = self.max_header.unwrap_or(options.max_header);
        if let Some(seconds) = self.server_timeout {
            let limit = Duration::from_secs(seconds);
            options.idle_timeout = limit;
            options.connect_timeout = limit;
            options.header_timeout = options.header_timeout.max(limit);
        }
        options
    }
}

/// The commands that read no URL.
const LOCAL: [&str; 6] = ["completions", "fit", "flash", "help", "man", "scan"];

const FORMS: &str = "A model can be a file on a server: http://…, https://…, or one of the Hub of Hugging \
    Face: hf://OWNER/NAME, hf://OWNER/NAME@REVISION, hf://OWNER/NAME/PATH. HF_TOKEN has the token of the \
    Hub; `safetensors man` lists the other variables.";

/// The variables of the environment, and what they are for.
pub const VARIABLES: [(&str, &str); 5] = [
    ("HF_TOKEN, HF_TOKEN_PATH", "the token of the Hub, or a file with it"),
    ("HF_ENDPOINT", "the address of the Hub"),
    ("HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE", "the local cache of the Hub; whether only it is used"),
    ("HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY", "proxies"),
    ("SSL_CERT_FILE", "certificates in PEM, instead of the roots of Mozilla"),
];

/// Whether the command of this name, or the program, reads models on servers.
pub fn reads_urls(command: &str) -> bool {
    !LOCAL.contains(&command)
}

/// Explains URLs in the help of commands that read them, and hides the options about servers elsewhere.
pub fn explain(program: Command) -> Command {
    let options = Settings::augment_args(Command::new(""));
    let hidden = || options.get_arguments().map(|option| option.clone().hide(true));
    let program = program.after_long_help(FORMS);
    program.mut_subcommands(|command| match reads_urls(command.get_name()) {
        true => command.after_long_help(FORMS),
        // An option that a command has already is not added to it again.
        false => command.args(hidden()),
    })
}

/// Replaces each URL with a secret among the paths of a command line by one that can be shown.
pub fn hide_in_paths(command: Command, secrets: &Arc<Secrets>) -> Command {
    let is_path = |arg: &clap::Arg| arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let parser = || {
        let secrets = secrets.clone();
        PathBufValueParser::new().map(move |path| secrets.hide(path))
    };
    let command = command.mut_args(|arg| if is_path(&arg) { arg.value_parser(parser()) } else { arg });
    command.mut_subcommands(|command| hide_in_paths(command, secrets))
}

/// Replaces the URLs of these words in a text.
pub fn hide_in_text(words: &[OsString], mut text: String) -> String {
    for word in words.iter().filter_map(|word| word.to_str()) {
        let Some(end) = word.find(":/") else { continue };
        let start = word[..end].rfind(|letter: char| !letter.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
        let url = &word[start..];
        if Location::is_remote(url) {
            text = text.replace(url, &Location::shown(url));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Secrets, hide_in_text};

    #[test]
    fn urls_that_differ_in_a_secret_have_different_names() {
        let secrets = Secrets::default();
        let name = |url: &str| secrets.hide(url.into()).to_string_lossy().into_owned();
        assert_eq!(name("http://h/a?1"), "http://h/a?…");
        assert_eq!(name("http://h/a?2"), "http://h/a?…#2");
        assert_eq!(name("http://h/a?1"), "http://h/a?…");
        assert_eq!(name("model.safetensors"), "model.safetensors");
    }

    #[test]
    fn a_text_about_words_has_no_secrets() {
        let words = ["check", "--output=https://h/x?key=secret", "http://a:secret@h/", "http:/h?secret"]
            .map(Into::into);
        let text = "--output=https://h/x?key=secret, 'http://a:secret@h/', http:/h?secret".to_owned();
        assert_eq!(hide_in_text(&words, text), "--output=https://h/x?…, 'http://…@h/', http:/h?…");
    }
}
