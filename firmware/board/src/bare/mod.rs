//! Machines that measure: start-up without a runtime, what the front door asks for, a clock, the stack, a card.
//!
//! They are QEMU's mps2-an385 and virt. Programs link with `mps2-an385.x` or `virt.x`, which this package shows the linker, and
//! have a `main` that never returns.

mod card;
mod clock;
mod enter;
mod request;
mod stack;

pub use card::{Broken, Card};
pub use clock::Clock;
pub use request::{MEMORY, Request, request};
pub use stack::peak;
