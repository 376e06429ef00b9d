//! The groups of a vector: its flags, its level, and whether a reader of headers can judge it.

use serde_json::Value;

use crate::build::{Vector, data_at};
use crate::case::Expect;
use crate::rules::is_core;
use support::forms::has_duplicate_keys;

/// A longer file is of the level `large`.
const LARGE: usize = 1 << 20;

/// How many vectors to ask a reader.
pub const LEVELS: [(&str, &str); 3] = [
    ("core", "Rules of the text or of JSON: a reader that breaks one reads wrong data or corrupts memory."),
    ("full", "Also what only the reference decides, and what is skipped."),
    ("large", "Also files of more than 1 MiB, made by recipes; one of them has more than 4 GiB of zeros."),
];

/// What a reader needs besides what the vector tests: a rejection has it from its twin.
const NEEDS: [&str; 5] = ["unknown-members", "no-tensors", BEYOND, "new-dtypes", "sub-byte"];

/// The flag of files that a reader cannot read with the dtypes of 2023. The published text lists no dtypes.
pub const BEYOND: &str = "beyond-13-dtypes";

/// The dtypes that came after 2023, with their flags besides the one of all.
const DTYPES: [(&str, &[&str]); 9] = [
    ("F8_E5M2", &[]),
    ("F8_E4M3", &[]),
    ("F8_E8M0", &["new-dtypes"]),
    ("F8_E4M3FNUZ", &["new-dtypes"]),
    ("F8_E5M2FNUZ", &["new-dtypes"]),
    ("C64", &["new-dtypes"]),
    ("F4", &["new-dtypes", "sub-byte"]),
    ("F6_E2M3", &["new-dtypes", "sub-byte"]),
    ("F6_E3M2", &["new-dtypes", "sub-byte"]),
];

/// What a reader may leave out: its vectors count only for a reader that has it.
pub const PROFILES: [(&str, &str); 1] = [(
    "unknown-members",
    "Entries with other members than the three. The reference skips them; the text does not say, so a reader \
     may reject all of them.",
)];

/// The flags of all vectors of an area, which is the first word of an id.
const AREAS: [(&str, &str); 37] = [
    ("after", "trailing-text"),
    ("border", "buffer-borders"),
    ("container", "container"),
    ("count", "quantity"),
    ("d1", "duplicate-keys"),
    ("d2", "duplicate-keys"),
    ("d3", "accidents"),
    ("d4", "accidents"),
    ("d5", "numbers"),
    ("d6", "rank"),
    ("data", "data-length"),
    ("depth", "deep-nesting"),
    ("dtype", "dtype-spelling"),
    ("empty", "layout"),
    ("encoding", "encoding"),
    ("end", "early-end"),
    ("entry", "members"),
    ("escape", "escapes"),
    ("json", "grammar"),
    ("large", "quantity"),
    ("layout", "layout"),
    ("metadata", "metadata"),
    ("name", "names"),
    ("number", "numbers"),
    ("offsets", "integers"),
    ("overflow", "sizes"),
    ("prio", "several-faults"),
    ("shape", "integers"),
    ("size", "sizes"),
    ("space", "whitespace"),
    ("string", "control"),
    ("subbyte", "sizes"),
    ("surrogate", "surrogates"),
    ("top", "root"),
    ("unknown", "members"),
    ("utf8", "utf8"),
    ("wrong", "wrong-file"),
];

/// Returns the flags of a vector, without those of its twin.
pub fn flags(vector: &Vector<'_>) -> Vec<&'static str> {
    let area = vector.case.id.split('-').next().unwrap_or_default();
    let areas = AREAS.iter().filter(|(of, _)| *of == area);
    let mut flags = vector.case.flags.to_vec();
    flags.extend(areas.map(|(_, flag)| *flag));
    flags.extend(of_dtypes(vector));
    if has_unknown_members(vector) {
        flags.push("unknown-members");
    }
    if vector.table.as_ref().is_some_and(|table| table.tensors.is_empty()) {
        flags.push("no-tensors");
    }
    in_order(flags)
}

/// Adds what the twin needs: a reader that rejects the twin for it has not shown anything here.
pub fn with_needs_of(flags: Vec<&'static str>, twin: &[&'static str]) -> Vec<&'static str> {
    let needs = twin.iter().filter(|flag| NEEDS.contains(flag));
    in_order(flags.into_iter().chain(needs.copied()).collect())
}

/// Returns the flags of the dtypes of an accepted file.
pub fn of_dtypes(vector: &Vector<'_>) -> impl Iterator<Item = &'static str> {
    let tensors = vector.table.iter().flat_map(|table| &table.tensors);
    let flags = |dtype: &str| DTYPES.iter().find(|(name, _)| *name == dtype);
    tensors.filter_map(move |tensor| flags(&tensor.dtype)).flat_map(|(_, flags)| [&[BEYOND], *flags].concat())
}

fn in_order(mut flags: Vec<&'static str>) -> Vec<&'static str> {
    let mut seen = std::collections::BTreeSet::new();
    flags.retain(|flag| seen.insert(*flag));
    flags
}

/// Whether an accepted file has an entry with other members than the three.
fn has_unknown_members(vector: &Vector<'_>) -> bool {
    let Some(Ok(Value::Object(members))) = header(vector).map(serde_json::from_slice) else { return false };
    let is_known = |key: &String| matches!(key.as_str(), "dtype" | "shape" | "data_offsets");
    let entries = members.iter().filter(|(name, _)| *name != "__metadata__");
    entries.filter_map(|(_, entry)| entry.as_object()).any(|entry| !entry.keys().all(is_known))
}

/// Returns the header of an accepted file.
fn header<'f>(vector: &'f Vector<'_>) -> Option<&'f [u8]> {
    let end = usize::try_from(data_at(&vector.file)).ok()?;
    vector.file.get(8..end).filter(|_| matches!(vector.case.expect, Expect::Accept))
}

/// Whether an accepted file is one by the published text, too: the header begins with a brace, only spaces
/// follow the object, no key is a duplicate, and the metadata is an object.
pub fn obeys_text(vector: &Vector<'_>) -> bool {
    let Some(header) = header(vector) else { return true };
    let padding = header.iter().rev().take_while(|&&byte| byte == b' ').count();
    let bare = &header[..header.len() - padding];
    let has_null = vector.case.flags.contains(&"null-metadata");
    let is_bare = bare.starts_with(b"{") && bare.ends_with(b"}");
    is_bare && !has_null && has_duplicate_keys(bare) == Some(false)
}

/// Returns the level of a vector with these flags.
pub fn level(vector: &Vector<'_>, flags: &[&str]) -> &'static str {
    match vector.file.len() > LARGE {
        true => "large",
        false if vector.source() == "reference" => "full",
        false if flags.contains(&BEYOND) || flags.contains(&"unknown-members") => "full",
        false if is_core(vector.case.rule) => "core",
        false => "full",
    }
}

/// Whether the length and the header alone determine verdict and table.
pub fn is_header_only(vector: &Vector<'_>) -> bool {
    let needs_end = ["container.header-beyond-file", "data.short", "data.trailing"];
    vector.error.is_none_or(|(code, _)| !needs_end.contains(&code))
}
