//! The file of an input: its parts themselves, a header of them, or an almost valid file with them.

use crate::plan::{below, next, number, seldom, sometimes};
use embedded_safetensors::Dtype;

const LONGEST: usize = 16384;

struct Made<'i> {
    file: Vec<u8>,
    /// The parts of the input that are not used yet.
    parts: std::slice::Iter<'i, u8>,
}

pub fn make_file(parts: &[u8]) -> Vec<u8> {
    let mut made = Made { file: vec![0; 8], parts: parts.iter() };
    let kind = next() % 4;
    let mut data = match kind {
        0 => 0,
        1 => number(),
        _ => made.header(),
    };
    if kind == 2 {
        made.file.resize(made.file.len().next_multiple_of(8), b' ');
    }
    if kind < 2 {
        made.file.extend(made.parts.by_ref().take(LONGEST));
    }
    if kind == 0 {
        made.file.drain(..8);
    } else {
        let len = made.file.len() as u64 - 8;
        let len = len.wrapping_add(if seldom() { number() } else { 0 });
        made.file[..8].copy_from_slice(&len.to_le_bytes());
    }
    if seldom() {
        data = data.wrapping_add(number()).wrapping_sub(4);
    }
    for index in 0..data.min(4096) {
        made.file.push(made.parts.next().copied().unwrap_or((37 * index) as u8));
    }
    let changes = if seldom() { 1 + below(4) } else { 0 };
    for _ in 0..changes.min(made.file.len()) {
        let at = (usize::from(next()) << 8 | usize::from(next())) % made.file.len();
        made.file[at] ^= 1 << below(8);
    }
    made.file
}

impl Made<'_> {
    fn text(&mut self, text: &str) {
        self.file.extend(text.as_bytes());
    }

    /// Appends a name: a letter, or a few characters of the parts.
    fn name(&mut self, index: u8) {
        let len = if sometimes() { 0 } else { below(14) };
        for _ in 0..len {
            self.file.push(match self.parts.next().copied().unwrap_or(0) & 0x7F {
                0..b' ' | b'"' | b'\\' => b'x',
                character => character,
            });
        }
        if len == 0 {
            self.file.push(b'a' + index);
        }
    }

    /// Appends an entry that begins at byte `begin` of the data, and returns where it ends.
    fn entry(&mut self, index: u8, begin: u64) -> u64 {
        let (dtype, rank) = (Dtype::ALL[below(Dtype::ALL.len())], next() % 4);
        self.text("\"");
        self.name(index);
        let dims: Vec<u64> =
            (0..rank).map(|_| if seldom() { number() } else { 1 + u64::from(next() % 6) }).collect();
        let bits = dims.iter().fold(dtype.bits().into(), |bits: u64, dim| bits.wrapping_mul(*dim));
        let more = if seldom() { next().into() } else { 0 };
        let end = begin.wrapping_add(bits.wrapping_add(7) / 8).wrapping_add(more);
        let name = dtype.name();
        self.text(&format!(
            "\":{{\"dtype\":\"{name}\",\"shape\":{dims:?},\"data_offsets\":[{begin},{end}]}}"
        ));
        end
    }

    /// Appends a header with entries that are valid for the most part, and returns how much data they have.
    fn header(&mut self) -> u64 {
        let (count, has_metadata, mut end) = (next() % 8, sometimes(), 0);
        self.text("{");
        if has_metadata {
            self.text("\"__metadata__\":{\"format\":\"");
            self.name(0);
            let last = if seldom() { 'x' } else { '0' };
            self.text(&format!("\",\"safetensors.sha256\":\"{:063}{last}\"}}", 0));
        }
        for index in 0..count {
            self.text(if index > 0 || has_metadata { "," } else { "" });
            let begin = if seldom() { number() } else { end };
            end = self.entry(index, begin).max(end);
        }
        self.text("}");
        end
    }
}
