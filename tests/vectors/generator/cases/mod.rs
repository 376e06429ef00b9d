//! The cases, by area. Each has one line, or two.

mod borders;
mod carriers;
mod container;
mod counts;
mod dense;
mod dtypes;
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
        text::CASES,
        json::CASES,
        strings::CASES,
        entry::ENTRIES,
        &dtypes::eight(),
        entry::DTYPES,
        numbers::CASES,
        members::CASES,
        layout::CASES,
        container::LENGTHS,
        sound::CASES,
        carriers::CASES,
        &dtypes::too_long(),
        &dtypes::scalars(),
        &dtypes::empty(),
        widths::CASES,
        foreign::CASES,
        special::CASES,
        counts::CASES,
        dense::CASES,
        large::CASES,
        missed::CASES,
        &missed::controls(),
        &missed::separators(),
        &borders::all(),
    ]
    .concat()
}
