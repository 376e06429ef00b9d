//! The vector that comparisons of formats are made with, to and from memory, beside a copy of its bytes.

use std::cell::RefCell;
use std::hint::black_box;

use bytemuck::{cast_slice, cast_slice_mut};
use embedded_safetensors::{Dtype, FileSpec, TensorSpec, View, Writer};
use safetensors_0_8::SafeTensors;
use safetensors_0_8::tensor::{Dtype as ReferenceDtype, TensorView, serialize};

use super::{Amount, Case, Measure, contender, ours, reference};

const VALUES: usize = 10_000;
const LEN: usize = 4 * VALUES;
const NAME: &str = "features";

pub fn measure(measure: &mut dyn Measure) {
    let values: Vec<f32> = (0..VALUES).map(|index| index as f32).collect();
    let bytes: &[u8] = cast_slice(&values);
    let what = format!("write a vector of {VALUES} f32");
    if measure.wants(&what) {
        measure_writing(measure, what, bytes);
    }
    let what = format!("read a vector of {VALUES} f32");
    if measure.wants(&what) {
        measure_reading(measure, what, bytes);
    }
}

/// Memory at four places, each call's another one: how the two ends of a copy lie to each other in the lines of the cache is up to a tenth
/// of its time. What is copied to begins in the middle of a page, and what is copied from at its start, for processors take the same places
/// in two pages for one. All contenders have the same memory: some pages are faster than others.
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

fn measure_writing(measure: &mut dyn Measure, what: String, bytes: &[u8]) {
    let file = by_reference(bytes);
    let data_start = file.len() - LEN;
    let (values, file) = (Places::from(bytes), Places::to(&file));
    let contenders = vec![
        ours(|| write(cast_slice(values.borrow_mut().here()), file.borrow_mut().next())),
        reference(|| by_reference(values.borrow_mut().here())),
        contender("copy", || {
            file.borrow_mut().next()[data_start..].copy_from_slice(values.borrow_mut().here());
        }),
    ];
    measure.measure(Case { what, amount: Amount::Bytes(LEN) }, contenders);
}

fn write(values: &[f32], file: &mut [u8]) {
    let shape = [values.len() as u64];
    let tensors = [TensorSpec::new(black_box(NAME), Dtype::F32, &shape)];
    let plan = FileSpec::new(&tensors).in_order().expect("it can be written");
    let mut writer = Writer::begin(file, plan, &mut [0; 128]).expect("there is room");
    writer.write_values(values).expect("there is room");
    black_box(writer.finish().expect("it is complete"));
}

fn by_reference(bytes: &[u8]) -> Vec<u8> {
    let tensor = TensorView::new(ReferenceDtype::F32, vec![VALUES], bytes).expect("it fits");
    serialize([(NAME, tensor)], None).expect("it can be written")
}

fn measure_reading(measure: &mut dyn Measure, what: String, bytes: &[u8]) {
    let file = by_reference(bytes);
    let data_start = file.len() - LEN;
    let (file, values) = (Places::from(&file), Places::to(bytes));
    let contenders = vec![
        ours(|| read(file.borrow_mut().here(), cast_slice_mut(values.borrow_mut().next()))),
        reference(|| read_by_reference(file.borrow_mut().here(), values.borrow_mut().next())),
        contender("copy", || {
            values.borrow_mut().next().copy_from_slice(&file.borrow_mut().here()[data_start..]);
        }),
    ];
    measure.measure(Case { what, amount: Amount::Bytes(LEN) }, contenders);
}

fn read(file: &[u8], values: &mut [f32]) {
    let model = View::parse(file).expect("it is sound");
    let tensor = model.tensor(black_box(NAME)).expect("it is there");
    values.copy_from_slice(tensor.as_f32().expect("they lie where they can be read"));
}

fn read_by_reference(file: &[u8], bytes: &mut [u8]) {
    let model = SafeTensors::deserialize(file).expect("it is sound");
    bytes.copy_from_slice(model.tensor(black_box(NAME)).expect("it is there").data());
}
