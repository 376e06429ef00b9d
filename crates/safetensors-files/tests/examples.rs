//! The examples run, and print what their documentation says.

#[path = "support/printed.rs"]
mod printed;

#[test]
fn all_examples_print_what_they_say() {
    printed::check(env!("CARGO_MANIFEST_DIR"), &["files", "shards"]);
}
