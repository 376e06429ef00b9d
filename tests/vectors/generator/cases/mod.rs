//! The cases, by area. Each has one line, or two.

mod borders;
mod carriers;
mod container;
mod counts;
mod dense;
mod entry;
mod foreign;
mod json;
mod large;
mod layout;
mod members;
mod missed;
mod numbers;
mod sound;
mod special;
mod strings;
mod text;
mod widths;

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
        sound::CASES,
        carriers::AFTER,
        carriers::BEFORE,
        carriers::ROOT,
        carriers::KEYS,
        carriers::LENGTHS,
        widths::DTYPES,
        widths::BORDERS,
        widths::FLOATS,
        foreign::ENCODINGS,
        foreign::OVERLONG,
        foreign::LOOK_ALIKES,
        foreign::JAVASCRIPT,
        foreign::WRONG,
        foreign::TRANSFERS,
        special::DEVIATIONS,
        special::PRIORITIES,
        counts::CASES,
        dense::CASES,
        large::CASES,
        missed::SIZES,
        missed::NUMBERS,
        missed::DTYPES,
        missed::MEMBERS,
        missed::LIMITS,
        &missed::controls(),
        &missed::separators(),
        &borders::all(),
    ]
    .concat()
}
