//! Frames, which bundle opcodes since protocol 4.

use super::opcode::Opcode;
use super::opcodes::{Argument, Op};
use crate::error::unsound;
use std::io;

/// Where the frames of a pickle end.
#[derive(Debug, Default)]
pub struct Frames {
    /// The end of the outermost frame.
    end: u64,
}

impl Frames {
    /// Rejects an opcode that crosses the end of a frame: there, Python's own machine drops bytes of some
    /// sources, and reads other opcodes than all other programs.
    ///
    /// `op` is the decoded opcode, or `None` for one that is not understood, or that begins a frame longer
    /// than any file.
    pub fn check(&mut self, at: u64, end: u64, op: Option<&Op>) -> io::Result<()> {
        let code = op.map(|op| op.code);
        let reaches = match op {
            Some(Op { code: Opcode::Frame, argument: Argument::Int(len), .. }) => {
                end.saturating_add(u64::try_from(*len).unwrap_or(u64::MAX))
            }
            _ => end,
        };
        let is_crossed = at < self.end && reaches > self.end;
        if is_crossed || (code == Some(Opcode::Stop) && reaches < self.end) {
            return Err(unsound(format!(
                "the opcode at byte {at} of the pickle contradicts its frame, which ends at byte {}",
                self.end
            )));
        }
        if code == Some(Opcode::Frame) {
            self.end = self.end.max(reaches);
        }
        Ok(())
    }
}
