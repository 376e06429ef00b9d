//! The guide's chapters and the README: each Rust example in them is compiled as a documentation test.

/// A module for each page.
macro_rules! pages {
    ($($name:ident = $path:literal;)*) => {
        $(#[doc = include_str!($path)] pub mod $name {})*
    };
}

pages! {
    readme = "../README.md";
    introduction = "src/introduction.md";
    getting_started = "src/getting-started.md";
    finding_tensors = "src/finding-tensors.md";
    values = "src/values.md";
    models_in_flash = "src/models-in-flash.md";
    streaming_input = "src/streaming-input.md";
    metadata = "src/metadata.md";
    asynch = "src/async.md";
    desktop_files = "src/desktop-files.md";
    writing = "src/writing.md";
    minimal_firmware = "src/minimal-firmware.md";
    porting = "src/porting.md";
    memory = "src/memory.md";
    when_not = "src/when-not.md";
    errors = "src/errors.md";
    costs = "src/costs.md";
    verdict = "src/verdict.md";
    command = "src/command.md";
    internals = "src/internals.md";
}
