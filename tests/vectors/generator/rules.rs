//! The rules, read from RULES.md: each has a source, and some are in the core.

use std::collections::BTreeMap;

const RULES: &str = include_str!("../RULES.md");

/// Where rules come from.
pub const SOURCES: [(&str, &str); 3] = [
    ("text", "The format's published text: Format, with its notes, and Benefits in the reference's README."),
    ("json", "RFC 8259, which the published text refers to by calling the header JSON."),
    ("reference", "Only what the reference does: another reader may have reasons to differ."),
];

/// Rules whose breach loses or forges data or memory. A vector is in the core if its rule is one of them and
/// its source is the text or JSON.
const CORE: &str = "\
    container-1 container-2 container-3 container-4 container-6 container-7 text-1 text-2 text-3 header-1 \
    json-1 json-2 json-5 json-6 json-8 name-1 name-2 entry-1 entry-2 entry-3 dtype-1 dtype-2 \
    shape-1 shape-2 shape-4 shape-6 offsets-1 offsets-2 offsets-3 tensor-1 tensor-2 tensor-3 \
    layout-1 layout-2 layout-3 layout-4 layout-5 metadata-1 metadata-2 metadata-3 metadata-5 order-1";

/// A rule of RULES.md.
pub struct Rule {
    /// Where it comes from.
    pub source: &'static str,
    /// Its first sentence.
    pub sentence: &'static str,
}

/// Returns all rules by id, in the order of their ids.
pub fn rules() -> BTreeMap<&'static str, Rule> {
    RULES.lines().filter_map(rule).collect()
}

/// Returns the rule of a line such as `- **id** [source] First sentence. Others.`
fn rule(line: &'static str) -> Option<(&'static str, Rule)> {
    let (id, rest) = line.strip_prefix("- **")?.split_once("** [")?;
    let (source, text) = rest.split_once("] ")?;
    let sentence = text.find(". ").map_or(text, |end| &text[..=end]);
    Some((id, Rule { source, sentence }))
}

/// Whether breaking the rule loses or forges data or memory.
pub fn is_core(rule: &str) -> bool {
    CORE.split_whitespace().any(|core| core == rule)
}
