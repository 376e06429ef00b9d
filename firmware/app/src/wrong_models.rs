//! The wrong models of the tests, on the device.

#[path = "../../../tests/wrong_models/apis.rs"]
mod apis;
#[path = "../../../tests/wrong_models/check.rs"]
mod check;
#[path = "../../../tests/wrong_models/models.rs"]
mod models;

use crate::report::{Event, Sink};

/// Gives each wrong model to each API of the guide that needs no heap, and reports how it is refused.
///
/// # Panics
/// If an API gives a number of a wrong model, or refuses it with another sentence than the table has.
///
/// *Memory*: no statics; at most two models of 512 bytes and the memory of one API on the stack.
pub fn refuse_wrong_models(sink: &mut impl Sink) {
    check::check(&apis::APIS, |what, refusal| {
        sink.event(&Event::Refused {
            what,
            tensor: refusal.tensor.unwrap_or("the model"),
            kind: refusal.kind,
        });
    });
}
