//! The guide's chapters and the README: each Rust example in them is compiled as a documentation test.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

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
    quantised = "src/quantised.md";
    models_in_flash = "src/models-in-flash.md";
    streaming_input = "src/streaming-input.md";
    metadata = "src/metadata.md";
    structures = "src/structures.md";
    aprender = "src/aprender.md";
    integrity = "src/integrity.md";
    asynch = "src/async.md";
    reading_ahead = "src/reading-ahead.md";
    replacing_models = "src/replacing-models.md";
    desktop_files = "src/desktop-files.md";
    remote = "src/remote.md";
    writing = "src/writing.md";
    minimal_firmware = "src/minimal-firmware.md";
    c = "src/c.md";
    porting = "src/porting.md";
    memory = "src/memory.md";
    when_not = "src/when-not.md";
    errors = "src/errors.md";
    costs = "src/costs.md";
    verdict = "src/verdict.md";
    formats = "src/formats.md";
    frameworks = "src/frameworks.md";
    command = "src/command.md";
    internals = "src/internals.md";
}

// Simulated hardware for the examples of the chapters.

#[doc(hidden)]
#[allow(missing_docs)]
#[path = "support/card.rs"]
pub mod card;
#[doc(hidden)]
#[allow(missing_docs, clippy::new_without_default)]
#[path = "../crates/embedded-safetensors/examples/support/chip.rs"]
pub mod chip;
#[doc(hidden)]
#[allow(missing_docs)]
#[path = "support/model.rs"]
pub mod model;
#[doc(hidden)]
#[allow(missing_docs)]
#[path = "support/uart.rs"]
pub mod uart;

#[doc(hidden)]
#[allow(missing_docs, dead_code)]
#[path = "../crates/safetensors-remote/tests/remote/server/mod.rs"]
pub mod server;

/// Serves a file until the program ends, and returns its URL.
#[doc(hidden)]
pub fn serve(file: Vec<u8>) -> String {
    let file = server::File::of(file);
    let server = server::Server::new(move |request, wire| server::part(&file, request).send(wire));
    server.url("/model.safetensors")
}

/// Runs a future on this thread, without an executor.
#[doc(hidden)]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}
