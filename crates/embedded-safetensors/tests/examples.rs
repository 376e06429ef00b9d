//! Runs the examples, and compares their output with their documentation.

#[path = "support/printed.rs"]
mod printed;

/// Each example, with the features that it needs.
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
fn examples_print_documented_output() {
    printed::check(env!("CARGO_MANIFEST_DIR"), EXAMPLES);
}
