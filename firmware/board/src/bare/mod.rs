//! Devices for measuring: start-up without a runtime, requests from `cargo xtask`, a clock, the stack, a
//! card.
//!
//! They are QEMU's mps2-an385 and virt. Programs link with `mps2-an385.x` or `virt.x`, which this package
//! adds to the search path, and have a `main` that never returns.

mod card;
mod clock;
mod enter;
mod request;
mod stack;

pub use card::{Broken, Card};
pub use clock::Clock;
pub use request::{MEMORY, Request, request};
pub use stack::peak;
