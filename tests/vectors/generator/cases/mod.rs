//! The cases, by area. Each has one line, or two.

mod container;
mod entry;
mod json;
mod large;
mod layout;
mod members;
mod numbers;
mod special;
mod strings;
mod text;

use crate::case::Case;

/// Returns every case, in the order of the manifest.
pub fn all() -> Vec<Case> {
    [
        container::CASES,
        text::WHITESPACE,
        text::BEHIND,
        text::UTF8_BORDERS,
        json::TOP,
        json::GRAMMAR,
        json::ENDS,
        json::NESTING,
        strings::CONTROLS,
        strings::ESCAPES,
        strings::SURROGATES,
        strings::NAMES,
        entry::ENTRIES,
        entry::DTYPES,
        numbers::SHAPES,
        numbers::OFFSET_PAIRS,
        numbers::SKIPPED,
        members::UNKNOWN,
        members::METADATA,
        layout::SIZES,
        layout::LAYOUTS,
        container::LENGTHS,
        special::DEVIATIONS,
        special::PRIORITIES,
        large::CASES,
    ]
    .concat()
}
