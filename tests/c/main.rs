//! The functions of the C API, compiled from its sources: the verdict on every vector and on the files of
//! other frameworks, and the wrong models. The tests in C are in `crates/safetensors-c/tests`.

mod calls;
mod verdicts;
mod wrong;

/// The library. Its modules name each other from the root of their crate.
#[allow(dead_code, missing_docs, reason = "not all of it is called here")]
#[path = "../../crates/safetensors-c/src"]
mod library {
    pub mod abi;
    pub mod error;
    pub mod file_receiver;
    pub mod model;
    pub mod object;
    pub mod pointers;
    pub mod reading;
    pub mod receiver;
    pub mod storage;
    pub mod tensors;
    pub mod verifier;
}
use library::*;

/// The wrong models, and what must hold of each API.
#[allow(dead_code, reason = "the APIs of Rust are tested in the suite")]
#[path = "../wrong_models"]
mod wrong_models {
    pub mod apis;
    pub mod check;
    pub mod models;
}
