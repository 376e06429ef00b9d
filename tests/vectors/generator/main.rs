//! Writes and checks the conformance vectors.

fn main() {}
