//! Where a model is.

use crate::error::{RemoteError, RemoteErrorKind};
use crate::hub::ENDPOINT;
use crate::url::Url;
use std::fmt;

/// The location of a model that is not a local file: a URL, or a model of the Hub of Hugging Face.
///
/// | form | means |
/// |---|---|
/// | `http://…`, `https://…` | a file, or an index whose name ends in `.index.json` |
/// | `hf://owner/name` | the weights of a model: see [`CANDIDATES`](crate::CANDIDATES) |
/// | `hf://owner/name@revision` | the same at a branch, a tag or a commit |
/// | `hf://owner/name/path` | one file of it, also with a revision |
/// | `https://huggingface.co/owner/name/blob/revision/path` | the same, as a browser shows it |
///
/// ```
/// use safetensors_remote::Location;
///
/// let Location::Hub(file) = Location::parse("hf://owner/name@v1/weights/a.safetensors")? else { panic!() };
/// assert_eq!((file.repository(), file.revision()), ("owner/name", "v1"));
/// assert_eq!(file.path(), Some("weights/a.safetensors"));
/// # Ok::<(), safetensors_remote::RemoteError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A file at this URL.
    Url(Url),
    /// A model of the Hub, or a file of it.
    Hub(HubFile),
}

/// A model of the Hub, or a file of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubFile {
    repository: String,
    revision: String,
    path: Option<String>,
}

pub(crate) const MAIN: &str = "main";
const FORMS: &str = "write hf://owner/name, hf://owner/name@revision or hf://owner/name/path";

/// The words of the path of a page about a model or a file of it, and how many of them name the model.
fn page_of_hub(url: &Url) -> Option<(Vec<&str>, usize)> {
    let is_on_hub = Url::parse(ENDPOINT).is_ok_and(|hub| hub.has_origin_of(url));
    let words: Vec<&str> = url.path().split('/').filter(|word| !word.is_empty()).collect();
    let is = |at: usize, views: [&str; 2]| words.get(at).is_some_and(|word| views.contains(word));
    let views = ["blob", "tree"];
    let named = match words.len() {
        0..=2 => 2,
        _ if is(2, views) => 2,
        // A model of the Hub without an owner, not one that is called so.
        _ if is(1, views) && !is(2, ["resolve", "raw"]) => 1,
        _ => return None,
    };
    is_on_hub.then_some((words, named))
}

/// The file that such a page shows: `owner/name/blob/revision/path`.
fn file_of_page((words, named): (Vec<&str>, usize)) -> Option<HubFile> {
    let path = words.get(named..)?.strip_prefix(&["blob"])?.join("/");
    let file = HubFile::parse(&format!("{}@{path}", words[..named].join("/"))).ok()?;
    file.path.as_ref().is_some_and(|path| !path.contains('%')).then_some(file)
}

impl Location {
    /// Returns whether a text has the form of a location: whether it begins with a scheme, of which only
    /// three can be [parsed](Self::parse), or with `hf:`, `http:/` or `https:/`, which is a mistake. A single
    /// letter is the name of a disk. Spaces before it do not count.
    pub fn is_remote(text: &str) -> bool {
        let text = text.trim_start();
        let is_scheme = |scheme: &str| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
            scheme.len() > 1 && scheme.bytes().all(is_part)
        };
        let begins =
            |with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
        ["hf:", "http:/", "https:/"].into_iter().any(begins)
            || text.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
    }

    /// Returns a location as it can be shown: without user name, password, query and fragment, whether it is
    /// valid or not.
    pub fn shown(text: &str) -> String {
        let (text, query) = match text.find(['?', '#']) {
            Some(at) => (text.get(..at).unwrap_or(text), text.get(at..).unwrap_or("")),
            None => (text, ""),
        };
        let query = if query.starts_with('?') { "?…" } else { "" };
        let shown = match text.split_once(":/") {
            Some((scheme, rest)) if !scheme.eq_ignore_ascii_case("hf") => {
                let (slash, rest) = rest.strip_prefix('/').map_or(("", rest), |rest| ("/", rest));
                format!("{scheme}:/{slash}{}{query}", without_password(rest))
            }
            _ => format!("{text}{query}"),
        };
        shown.chars().filter(|letter| !letter.is_control()).collect()
    }

    /// Parses a location.
    ///
    /// # Errors
    /// [`RemoteErrorKind::Location`].
    pub fn parse(text: &str) -> Result<Self, RemoteError> {
        let parsed = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("hf") => HubFile::parse(rest).map(Self::Hub),
            _ if text.starts_with(char::is_whitespace) => Err("it begins with a space"),
            None if text.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("hf:")) => Err(FORMS),
            None if Self::is_remote(text) => Err("two slashes are needed after the colon"),
            _ => Url::parse(text).and_then(|url| match page_of_hub(&url) {
                Some(page) => {
                    file_of_page(page).map(Self::Hub).ok_or("it is a page of the Hub; write hf://owner/name")
                }
                None => Ok(Self::Url(url)),
            }),
        };
        parsed.map_err(|reason| RemoteError::new(Self::shown(text), RemoteErrorKind::Location(reason)))
    }
}

/// A host and a path. A password with a slash, which a URL cannot have, ends at the last `@`.
fn without_password(rest: &str) -> String {
    let authority = rest.split('/').next().unwrap_or(rest);
    let has_port = authority
        .rsplit_once(':')
        .is_none_or(|(host, port)| host.ends_with(']') || port.bytes().all(|digit| digit.is_ascii_digit()));
    let before = match authority.rfind('@') {
        Some(at) => Some(at),
        None if has_port || authority.starts_with('[') => None,
        None => rest.rfind('@'),
    };
    match before.and_then(|at| rest.get(at + 1..)) {
        Some(rest) => format!("…@{rest}"),
        None => rest.to_owned(),
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => url.fmt(f),
            Self::Hub(file) => file.fmt(f),
        }
    }
}

impl HubFile {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim_end_matches('/');
        let (name, rest) = match text.split_once('@') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let mut parts = name.splitn(3, '/');
        let (first, second, path) = (parts.next().unwrap_or(""), parts.next(), parts.next());
        if matches!(first, "datasets" | "spaces" | "models") && second.is_some() && path.is_some() {
            return Err("only models are supported: write hf://owner/name");
        }
        let repository = second.map_or_else(|| first.to_owned(), |name| format!("{first}/{name}"));
        if !repository.split('/').all(is_name) {
            return Err(FORMS);
        }
        let (revision, path) = match (rest, path) {
            (None, path) => (MAIN, path),
            (Some(_), Some(_)) => {
                return Err("the revision comes after the name: hf://owner/name@revision/path");
            }
            (Some(rest), None) => split_revision(rest),
        };
        let revision = revision.replace("%2F", "/").replace("%2f", "/");
        match (revision.split('/').all(is_safe), path) {
            (false, _) => Err("its revision is empty, or leads to another directory"),
            (true, Some(path)) if !path.split('/').all(is_safe) => Err("its path leads to another directory"),
            (true, path) => Ok(Self { repository, revision, path: path.map(str::to_owned) }),
        }
    }

    /// Returns `owner/name`, or only a name.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Returns the branch, the tag or the commit; `main` if none was given.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// Returns the path of the file in the model, if it was given.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }
}

impl fmt::Display for HubFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hf://{}", self.repository)?;
        // Without an owner, a path would be read as the name.
        let is_ambiguous = self.path.is_some() && !self.repository.contains('/');
        if self.revision != MAIN || is_ambiguous {
            write!(f, "@{}", self.revision.replace('/', "%2F"))?;
        }
        self.path.as_ref().map_or(Ok(()), |path| write!(f, "/{path}"))
    }
}

/// Splits what comes after `@`. Only these references of the Hub contain slashes: `refs/pr/N` and
/// `refs/convert/NAME`.
fn split_revision(rest: &str) -> (&str, Option<&str>) {
    let has_slashes = rest.starts_with("refs/pr/") || rest.starts_with("refs/convert/");
    let slash = rest.match_indices('/').nth(if has_slashes { 2 } else { 0 });
    match slash {
        Some((at, _)) => (rest.get(..at).unwrap_or(rest), rest.get(at + 1..)),
        None => (rest, None),
    }
}

fn is_name(part: &str) -> bool {
    is_safe(part) && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_safe(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']) && !part.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_parsed() {
        for (text, repository, revision, path) in [
            ("hf://o/n", "o/n", "main", None),
            ("HF://o/n/", "o/n", "main", None),
            ("hf://gpt2", "gpt2", "main", None),
            ("hf://o/n@v1.0", "o/n", "v1.0", None),
            ("hf://gpt2@main/a.st", "gpt2", "main", Some("a.st")),
            ("hf://o/n/a/b.st", "o/n", "main", Some("a/b.st")),
            ("hf://o/n@refs/pr/7", "o/n", "refs/pr/7", None),
            ("hf://o/n@refs/pr/7/a.st", "o/n", "refs/pr/7", Some("a.st")),
            ("hf://o/n@feature%2Fx/a.st", "o/n", "feature/x", Some("a.st")),
            ("https://huggingface.co/o/n/blob/main/m.st?x=1", "o/n", "main", Some("m.st")),
            ("https://huggingface.co/gpt2/blob/refs%2Fpr%2F7/a/m.st", "gpt2", "refs/pr/7", Some("a/m.st")),
        ] {
            let Ok(Location::Hub(file)) = Location::parse(text) else { panic!("{text}") };
            assert_eq!((file.repository(), file.revision(), file.path()), (repository, revision, path));
            assert_eq!(Location::parse(&file.to_string()).unwrap(), Location::Hub(file), "{text}");
        }
        let url = Location::parse("https://h/a.safetensors?download=true").unwrap();
        assert_eq!(url.to_string(), "https://h/a.safetensors?…");
        for name in ["blob", "tree"] {
            let url = format!("https://huggingface.co/o/{name}/resolve/main/m.st");
            assert_eq!(Location::parse(&url).unwrap().to_string(), url);
        }
    }

    #[test]
    fn invalid_locations_have_a_reason() {
        for (text, reason) in [
            ("hf://", "write hf://owner/name"),
            ("hf://o/../x", "write hf://owner/name"),
            ("hf://../x", "write hf://owner/name"),
            ("hf://o/n@", "revision is empty"),
            ("hf://o/n@../x", "another directory"),
            ("hf://o/n@main/../../x", "another directory"),
            ("hf://o/n/a@b", "after the name"),
            ("hf://datasets/o/n", "only models"),
            ("hf://o/a?b", "write hf://owner/name"),
            ("ftp://h/a", "only http, https and hf"),
            ("hf:/o/n", "write hf://owner/name"),
            ("https://huggingface.co/gpt2/tree/main", "page of the Hub"),
            ("HTTP:/h/a", "two slashes"),
            (" hf://o/n", "begins with a space"),
            ("https://huggingface.co/o/n", "write hf://owner/name"),
            ("https://huggingface.co/o/n/tree/main", "write hf://owner/name"),
            ("model.safetensors", "absolute URL"),
        ] {
            let error = Location::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn texts_with_a_scheme_are_remote() {
        for text in
            ["http://h", "HTTPS://h", "hf://o/n", "s3://b/a", "file:///a", "hf:/o", "Http:/h", " https://h"]
        {
            assert!(Location::is_remote(text), "{text}");
        }
        for text in ["model.safetensors", "C:\\a", "c://a", "-", "a b://o", "://", "a/b://c"] {
            assert!(!Location::is_remote(text), "{text}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        for (text, shown) in [
            ("https://h/a.safetensors", "https://h/a.safetensors"),
            ("https://user:pass@h/a?key=1#x", "https://…@h/a?…"),
            ("https://user:p@ss@h/a", "https://…@h/a"),
            ("https://user:pa/ss@h/a", "https://…@h/a"),
            ("http://h?key=1", "http://h?…"),
            ("http://h/a#key=1", "http://h/a"),
            ("http://h:80/a@b", "http://h:80/a@b"),
            ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
            ("hf://o/n@v1/a", "hf://o/n@v1/a"),
            ("hf://o/n?token=1", "hf://o/n?…"),
            (" http://u:p@h/a?key=1", " http://…@h/a?…"),
            ("http:/u:p@h/a?key=1", "http:/…@h/a?…"),
        ] {
            assert_eq!(Location::shown(text), shown);
        }
        let error = Location::parse("https://u:secret@secret@h/a?key=secret").unwrap_err().to_string();
        assert!(error.starts_with("https://…@h/a?…: ") && !error.contains("secret"), "{error}");
    }
}
