//! The functions of the C API, compiled from its sources: the verdict on every vector and on the files of
//! other frameworks, and the wrong models. The tests in C are in `crates/safetensors-c/tests`.

mod calls;
mod verdicts;
mod wrong;

/// The library, whose modules are at the root of its crate.
macro_rules! library {
    ($($module:ident $path:literal)+) => { $(
        #[allow(dead_code, missing_docs, reason = "not all of it is called here")]
        #[path = $path]
        mod $module;
    )+ };
}

library! {
    abi "../../crates/safetensors-c/src/abi.rs"
    error "../../crates/safetensors-c/src/error.rs"
    file_receiver "../../crates/safetensors-c/src/file_receiver.rs"
    model "../../crates/safetensors-c/src/model.rs"
    object "../../crates/safetensors-c/src/object.rs"
    pointers "../../crates/safetensors-c/src/pointers.rs"
    reading "../../crates/safetensors-c/src/reading.rs"
    receiver "../../crates/safetensors-c/src/receiver.rs"
    storage "../../crates/safetensors-c/src/storage.rs"
    tensors "../../crates/safetensors-c/src/tensors.rs"
    verifier "../../crates/safetensors-c/src/verifier.rs"
}

/// The wrong models, and what must hold of each API.
#[allow(dead_code, reason = "the APIs of Rust are tested in the suite")]
#[path = "../wrong_models"]
mod wrong_models {
    pub mod apis;
    pub mod check;
    pub mod models;
}
