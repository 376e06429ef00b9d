//! Pickles, read as a list of opcodes; nothing in them is executed or imported.
//!
//! [`Opcodes`] decodes the opcodes of protocols 0 to 5. [`scan`] lists what a pickle would import and call.

mod listed;
mod machine;
mod opcode;
mod opcodes;
mod scan;
mod text;

pub(crate) use listed::{Listed, Rebuild, is_in};
pub(crate) use machine::{Indices, Machine, Make};
pub(crate) use opcode::Form;
pub(crate) use opcodes::{Here, LONGEST_FRAME};

pub use opcode::Opcode;
pub use opcodes::{Argument, KEPT, Name, Op, Opcodes};
pub use scan::{Finding, Problem, Scan, Use, scan};
