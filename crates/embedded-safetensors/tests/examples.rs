//! The examples run, and print what their documentation says.

#[path = "support/printed.rs"]
mod printed;

/// Each with the features that it needs.
const EXAMPLES: &[(&str, &str)] = &[
    ("mapped", "std"),
    ("matvec", "embedded-io"),
    ("sd_card", "embedded-io"),
    ("nor_flash", "embedded-storage"),
    ("recorder", "embedded-storage"),
    ("uart", ""),
    ("index_in_static", ""),
    ("model_in_flash", ""),
];

#[test]
fn all_examples_print_what_they_say() {
    printed::check(env!("CARGO_MANIFEST_DIR"), EXAMPLES);
}
