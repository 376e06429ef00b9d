//! Colours, where there is a person who wants to see them.

use std::fmt::Display;
use std::io::{IsTerminal, stdout};

/// Whether to colour what is printed.
#[derive(Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    /// Nowhere.
    #[cfg(test)]
    pub const fn off() -> Self {
        Self(false)
    }

    /// On standard output.
    pub fn stdout() -> Self {
        Self(stdout().is_terminal() && is_wanted())
    }

    pub fn dim(self, text: impl Display) -> String {
        self.with("2", text)
    }

    pub fn red(self, text: impl Display) -> String {
        self.with("31", text)
    }

    pub fn green(self, text: impl Display) -> String {
        self.with("32", text)
    }

    /// With the parameters of the terminal's sequence, as in `1;34`.
    pub fn with(self, code: &str, text: impl Display) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }
}

/// As the convention of `NO_COLOR` has it, and not where the terminal can do nothing.
fn is_wanted() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::Paint;

    #[test]
    fn without_colours_text_is_as_it_was() {
        assert_eq!(Paint(false).red("a"), "a");
        assert_eq!(Paint(true).red("a"), "\u{1b}[31ma\u{1b}[0m");
    }
}
