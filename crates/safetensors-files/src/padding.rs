//! Padding: the tensors of zeros that [`Placement::Padded`](crate::write::Placement::Padded) puts between others.

use super::disk::{Handle, read_up_to};
use super::error::FileFault;
use super::header::Held;
use crate::dtype::Dtype;
use crate::error::spec::PADDING;
use std::collections::HashSet;
use std::format;
use std::string::String;
use std::vec;
use std::vec::Vec;

/// [`Placement`](crate::write::Placement) has no larger unit, for no header is longer.
const LARGEST_UNIT: u64 = 1 << 26;

/// So many bytes are compared with zero at a time.
const PIECE: usize = 1 << 16;

/// The names of the tensors that are padding: in every respect as the writer makes it, and all zeros. Anything else is a tensor
/// whose data must not be lost, whatever its name. `find` finds a tensor by its name.
pub(super) fn names<'h>(
    file: &dyn Handle,
    data_start: u64,
    find: impl Fn(&str) -> Option<&'h Held>,
    tensors: impl Iterator<Item = &'h Held>,
) -> Result<Vec<String>, FileFault> {
    let candidates = (0_u64..).map(|number| format!("{PADDING}{number}"));
    let candidates = candidates.map_while(|name| find(&name).map(|held| (name, held)));
    let candidates: Vec<(String, &Held)> =
        candidates.take_while(|(_, held)| held.looks_like_padding(data_start)).collect();
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let begins: HashSet<u64> = tensors.map(|held| held.begin).collect();
    let (mut names, mut buffer) = (Vec::new(), vec![0; PIECE]);
    for (name, held) in candidates {
        if !begins.contains(&held.end) || !is_zero(file, data_start, held, &mut buffer)? {
            break;
        }
        names.push(name);
    }
    Ok(names)
}

fn is_zero(file: &dyn Handle, data_start: u64, held: &Held, buffer: &mut [u8]) -> Result<bool, FileFault> {
    let (mut at, mut left) = (data_start + held.begin, held.end - held.begin);
    while left > 0 {
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let piece = buffer.get_mut(..room).unwrap_or(&mut []);
        let read = read_up_to(file, at, piece).map_err(|error| FileFault::system("read", error))?;
        if read < piece.len() {
            return Err(FileFault::Changed);
        }
        if piece.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        at += piece.len() as u64;
        left -= piece.len() as u64;
    }
    Ok(true)
}

impl Held {
    /// Whether it ends at a multiple of a power of two that is larger than it, and has the dtype and the rank of padding.
    fn looks_like_padding(&self, data_start: u64) -> bool {
        let [len] = self.dims[..] else { return false };
        if self.dtype != Dtype::U8 || len == 0 || len >= LARGEST_UNIT {
            return false;
        }
        let unit = (len + 1).next_power_of_two().max(8);
        (data_start + self.end) & (unit - 1) == 0
    }
}
