//! The wrong models of the tests, on the device.

#[path = "../../../tests/wrong_models/apis.rs"]
mod apis;
#[path = "../../../tests/wrong_models/check.rs"]
mod check;
#[path = "../../../tests/wrong_models/models.rs"]
mod models;

use crate::report::{Event, Sink};

/// Gives each wrong model to each API of the guide that needs no heap, and reports how it is rejected.
///
/// # Panics
/// If an API gives a number of a wrong model, or rejects it with another sentence than the table has.
///
/// *Memory*: no statics; at most three models of 512 bytes and the memory of one API on the stack.
pub fn reject_wrong_models(sink: &mut impl Sink) {
    check::check(&apis::APIS, |what, rejection| {
        sink.event(&Event::Rejected {
            what,
            tensor: rejection.tensor.unwrap_or("the model"),
            kind: rejection.kind,
        });
    });
}
