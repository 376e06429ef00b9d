//! Writes and reads the vector of the format comparisons, in memory. The floor is a copy of its bytes.

use std::cell::RefCell;
use std::hint::black_box;

use bytemuck::{cast_slice, cast_slice_mut};

use super::{Amount, Case, Measure, contender, ours, reference};
use crate::vector::{VALUES, read, values, write};
use crate::vector_by_reference as by_reference;

const LEN: usize = 4 * VALUES;

pub fn measure(measure: &mut dyn Measure) {
    let values = values();
    let what = format!("write a vector of {VALUES} f32");
    if measure.wants(&what) {
        measure_writing(measure, what, &values);
    }
    let what = format!("read a vector of {VALUES} f32");
    if measure.wants(&what) {
        measure_reading(measure, what, &values);
    }
}

/// Memory at four addresses, used in turn: the relative position of source and destination in cache lines
/// changes the time of a copy by about a tenth. Destinations begin in the middle of a page and sources at
/// its start, because processors confuse equal offsets in two pages. All contenders share the memory,
/// because some pages are faster than others.
struct Places {
    memories: Vec<Vec<u8>>,
    in_page: usize,
    len: usize,
    turn: usize,
}

impl Places {
    const COUNT: usize = 4;
    const STEP: usize = 16;
    const PAGE: usize = 4096;

    fn from(bytes: &[u8]) -> RefCell<Self> {
        Self::of(bytes, 0)
    }

    fn to(bytes: &[u8]) -> RefCell<Self> {
        Self::of(bytes, Self::PAGE / 2)
    }

    fn of(bytes: &[u8], in_page: usize) -> RefCell<Self> {
        let memories = vec![vec![0; bytes.len() + 2 * Self::PAGE]; Self::COUNT];
        let mut places = Self { memories, in_page, len: bytes.len(), turn: 0 };
        (0..Self::COUNT).for_each(|_| places.next().copy_from_slice(bytes));
        RefCell::new(places)
    }

    fn next(&mut self) -> &mut [u8] {
        self.turn = (self.turn + 1) % Self::COUNT;
        self.here()
    }

    fn here(&mut self) -> &mut [u8] {
        let memory = &mut self.memories[self.turn];
        let begin = memory.as_ptr().align_offset(Self::PAGE) + self.in_page + self.turn * Self::STEP;
        black_box(&mut memory[begin..][..self.len])
    }
}

fn measure_writing(measure: &mut dyn Measure, what: String, values: &[f32]) {
    let file = by_reference::write(values);
    let data_start = file.len() - LEN;
    let (values, file) = (Places::from(cast_slice(values)), Places::to(&file));
    let contenders = vec![
        ours(|| write(file.borrow_mut().next(), cast_slice(values.borrow_mut().here()))),
        reference(|| by_reference::write(cast_slice(values.borrow_mut().here()))),
        contender("copy", || {
            file.borrow_mut().next()[data_start..].copy_from_slice(values.borrow_mut().here());
        }),
    ];
    measure.measure(Case { what, amount: Amount::Bytes(LEN) }, contenders);
}

fn measure_reading(measure: &mut dyn Measure, what: String, values: &[f32]) {
    let file = by_reference::write(values);
    let data_start = file.len() - LEN;
    let (file, values) = (Places::from(&file), Places::to(cast_slice(values)));
    let contenders = vec![
        ours(|| read(file.borrow_mut().here(), cast_slice_mut(values.borrow_mut().next()))),
        reference(|| {
            values.borrow_mut().next().copy_from_slice(by_reference::find(file.borrow_mut().here()));
        }),
        contender("copy", || {
            values.borrow_mut().next().copy_from_slice(&file.borrow_mut().here()[data_start..]);
        }),
    ];
    measure.measure(Case { what, amount: Amount::Bytes(LEN) }, contenders);
}
