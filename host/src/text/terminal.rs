//! The terminals on standard output and standard error.

use console::{Style, Term};

/// A standard stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

impl Stream {
    /// The width of its terminal, 80 if that does not tell it; None if there is none, or an unusable one.
    pub fn columns(self) -> Option<usize> {
        let term = if self == Self::Out { Term::stdout() } else { Term::stderr() };
        term.is_term().then(|| term.size().1.into()).filter(|&columns| columns >= 20)
    }

    /// An error on it: red, if its terminal shows colours.
    pub fn bad(self, text: &str) -> String {
        self.paint(text, Style::new().red().bold())
    }

    /// Something good on it.
    pub fn good(self, text: &str) -> String {
        self.paint(text, Style::new().green())
    }

    fn paint(self, text: &str, style: Style) -> String {
        let style = if self == Self::Out { style.for_stdout() } else { style.for_stderr() };
        style.apply_to(text).to_string()
    }
}

/// Whether a terminal shows only ASCII, by the first of these variables that is set.
pub fn is_ascii() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    !(cfg!(windows) || locale.ends_with("utf-8") || locale.ends_with("utf8"))
}

/// The width of the terminal on standard output; None if there is no terminal, or an unusable one.
pub fn terminal_width() -> Option<usize> {
    Stream::Out.columns()
}
