//! safetensors-host
fn main() {}
