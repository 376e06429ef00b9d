//! Runs the examples, and compares their output with their documentation.

#[path = "support/printed.rs"]
mod printed;

/// The examples.
const EXAMPLES: &[&str] =
    &["mapped", "matvec", "sd_card", "nor_flash", "recorder", "uart", "index_in_static", "model_in_flash"];

#[test]
fn examples_print_documented_output() {
    printed::check(env!("CARGO_MANIFEST_DIR"), EXAMPLES);
}
