//! Shared code of the tests: ways to cut a file into pieces, this project's verdict on a file and its parse
//! events, a storage with faults and the ways to read it, one file through every API, random headers, a naive
//! model of slices, and (feature `oracle`) the verdicts of the reference.

#[cfg(feature = "oracle")]
pub mod agreement;
pub mod apis;
pub mod clock;
pub mod contents;
pub mod context;
pub mod dictionary;
#[cfg(feature = "std")]
pub mod disk;
pub mod executor;
pub mod file;
#[cfg(feature = "oracle")]
pub mod forms;
pub mod headers;
pub mod memory;
pub mod mock;
#[allow(clippy::cast_possible_truncation, missing_docs)] // firmware includes it, too
#[path = "../../crates/safetensors-slots/tests/slots/nor.rs"]
pub mod nor;
pub mod operations;
pub mod random;
#[cfg(feature = "oracle")]
pub mod reference;
#[cfg(feature = "oracle")]
pub mod reference_writer;
pub mod share;
pub mod sink;
pub mod slices;
pub mod sources;
pub mod split;
pub mod texts;
pub mod trace;
pub mod verdict;
pub mod waiting;
pub mod writing;

/// Calls a function that is generic over the unit of flash: `for_units!(1 4 8: test(argument))`.
#[macro_export]
macro_rules! for_units {
    ($($unit:literal)+: $function:ident $arguments:tt) => { $($function::<$unit> $arguments;)+ };
}

/// NOR flash that logs its calls.
pub type Chip<const UNIT: usize, const SECTORS: usize = 8> = nor::Nor<UNIT, 1024, SECTORS, Vec<nor::Call>>;
