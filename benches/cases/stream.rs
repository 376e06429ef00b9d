//! Reads a tensor from a file through a buffer. The floor makes the same reads by hand. The reference
//! cannot stream: it reads the entire file.

use std::cell::RefCell;
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom};

use embedded_safetensors::{Model, TensorInfo};
use safetensors_0_8::SafeTensors;

use super::files::{Temporary, sum};
use super::{Amount, Bench, Case, KIB, MIB, contender, ours, reference, size};
use crate::one_tensor::{DATA_START, NAME, one_tensor};

/// Too large for the heap to keep for reuse: each read of the entire file allocates new memory, like a
/// first read.
const LEN: usize = 32 * MIB;

pub fn measure(bench: &mut Bench) {
    let cases = [4 * KIB, 64 * KIB, MIB].into_iter().flat_map(|buffer| {
        [("untouched", ignore as fn(&[u8])), ("summed", add_up)].map(|(use_name, use_bytes)| {
            (buffer, use_bytes, format!("stream from a file, buffer of {}, {use_name}", size(buffer)))
        })
    });
    let cases: Vec<_> = cases.filter(|(_, _, what)| bench.wants(what)).collect();
    if cases.is_empty() {
        return;
    }
    let file = Temporary::new(&one_tensor("U8", 1, &[LEN]));
    for (buffer, use_bytes, what) in cases {
        let mut opened = Opened::new(&file);
        let mut by_hand = file.open();
        // All contenders share one buffer, because its address influences the time.
        let buffer = RefCell::new(vec![0; buffer]);
        let contenders = vec![
            ours(|| opened.read(&mut buffer.borrow_mut(), use_bytes)),
            reference(|| read_whole(&file, use_bytes)),
            contender("block reads", || read_by_hand(&mut by_hand, &mut buffer.borrow_mut(), use_bytes)),
        ];
        bench.measure(Case { what, amount: Amount::Bytes(LEN) }, contenders);
    }
}

fn ignore(bytes: &[u8]) {
    black_box(bytes);
}

fn add_up(bytes: &[u8]) {
    black_box(sum(black_box(bytes)));
}

struct Opened {
    model: Model<File>,
    info: TensorInfo,
}

impl Opened {
    fn new(file: &Temporary) -> Self {
        let mut model = Model::open(file.open(), &mut [0; 4096]).expect("valid file");
        let info = model.find(NAME, &mut [0; 4096]).expect("valid file").expect("found");
        Self { model, info }
    }

    fn read(&mut self, buffer: &mut [u8], use_bytes: fn(&[u8])) {
        let mut reader = self.model.reader(&self.info).expect("tensor of this file");
        while let Some(chunk) = reader.next_chunk(buffer).expect("readable file") {
            use_bytes(chunk);
        }
    }
}

fn read_by_hand(file: &mut File, buffer: &mut [u8], use_bytes: fn(&[u8])) {
    file.seek(SeekFrom::Start(DATA_START)).expect("readable file");
    loop {
        match file.read(buffer).expect("readable file") {
            0 => return,
            len => use_bytes(&buffer[..len]),
        }
    }
}

fn read_whole(file: &Temporary, use_bytes: fn(&[u8])) {
    let bytes = std::fs::read(file.path()).expect("readable file");
    let tensors = SafeTensors::deserialize(&bytes).expect("valid file");
    use_bytes(tensors.tensor(NAME).expect("found").data());
}
