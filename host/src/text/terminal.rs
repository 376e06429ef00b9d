//! The terminal on standard output.

/// Whether a terminal shows only ASCII, by the first of these variables that is set.
pub fn is_ascii() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    !(cfg!(windows) || locale.ends_with("utf-8") || locale.ends_with("utf8"))
}

/// The width of the terminal on standard output, or 80 columns.
pub fn width() -> usize {
    const USUAL: usize = 80;
    terminal_width().unwrap_or(USUAL)
}

/// The width of the terminal on standard output; None if there is no terminal, or an unusable one.
pub fn terminal_width() -> Option<usize> {
    let size = console::Term::stdout().size_checked();
    size.map(|(_, columns)| columns.into()).filter(|&columns| columns >= 20)
}
