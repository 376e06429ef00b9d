//! Finds the tensor that contains an error.

use crate::error::not_read::{Failure, NotRead};
use crate::input::header::visit;
use crate::input::source::Source;
use crate::text::Beginning;
use embedded_safetensors::header::Event;
use std::ops::ControlFlow;

/// The name of the tensor whose entry contains byte `at`. An entry extends from the name's opening quote to
/// the closing brace.
pub fn tensor_at(source: &mut Source, at: u64) -> Result<Option<String>, NotRead> {
    let mut search = Search { at, name: Beginning::default(), in_entry: false };
    match visit(source, |event, start, _| Ok(search.see(event, start))) {
        Err(Failure::NotRead(reason)) => Err(reason),
        // In an entry that the error cuts off, the search ends where the header does.
        Ok(()) | Err(Failure::Invalid(_)) => Ok(search.result()),
    }
}

/// Follows the events. An entry that is open at the end is the one.
struct Search {
    at: u64,
    name: Beginning,
    /// The name is complete, and the following events belong to its tensor.
    in_entry: bool,
}

impl Search {
    fn see(&mut self, event: &Event<'_>, start: u64) -> ControlFlow<()> {
        match event {
            Event::Name(piece) => self.name.push(piece.as_bytes()),
            Event::Metadata => self.name.clear(),
            Event::Tensor if start > self.at => return ControlFlow::Break(()),
            Event::Tensor => self.in_entry = true,
            Event::TensorEnd if start >= self.at => return ControlFlow::Break(()),
            Event::TensorEnd => {
                self.in_entry = false;
                self.name.clear();
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn result(self) -> Option<String> {
        self.in_entry.then(|| self.name.text().to_owned())
    }
}
