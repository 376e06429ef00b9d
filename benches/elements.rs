//! Reading a tensor as values, call by call through one buffer, against a plain copy of as many values.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use embedded_safetensors::{AxisRange, FileLen, Model, ReadAt, TensorInfo};
use verification::file::with_header;
use verification::random::Random;

/// Values of the tensor: more than the caches hold.
const VALUES: usize = 1 << 24;

/// Values of the buffer.
const BUFFERS: [usize; 3] = [1 << 10, 1 << 14, 1 << 18];

const DTYPES: [(&str, usize); 7] =
    [("F32", 4), ("F16", 2), ("BF16", 2), ("I16", 2), ("I8", 1), ("F8_E4M3", 1), ("F8_E5M2", 1)];

/// A file of one matrix with rows of 1024, of random bytes.
fn file(dtype: &str, width: usize) -> Vec<u8> {
    let (rows, len) = (VALUES >> 10, VALUES * width);
    let header = format!(r#"{{"t":{{"dtype":"{dtype}","shape":[{rows},1024],"data_offsets":[0,{len}]}}}}"#);
    let mut file = with_header(&format!("{header:88}"), 0);
    let mut random = Random::new(1);
    file.extend((0..len / 8).flat_map(|_| random.number().to_le_bytes()));
    file
}

/// A file that has to be read, as on a card that is as fast as memory.
struct Card<'f>(&'f [u8]);

impl ReadAt for Card<'_> {
    type Error = std::convert::Infallible;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        self.0.read_at(offset, buffer)
    }

    fn file_len(&mut self) -> Result<FileLen, Self::Error> {
        self.0.file_len()
    }
}

fn opened<S: ReadAt>(source: S) -> (Model<S>, TensorInfo) {
    let Ok(mut model) = Model::open(source, &mut [0; 4096]) else { panic!("it is sound") };
    let Ok(Some(info)) = model.find("t", &mut [0; 4096]) else { panic!("it is there") };
    (model, info)
}

/// All of the tensor, through the buffer.
fn read<S: ReadAt>(model: &mut Model<S>, info: &TensorInfo, values: &mut [f32]) {
    let mut reader = model.tensor(info).expect("it is this file's").elements();
    while let Ok(Some(piece)) = reader.next_lossless(values) {
        black_box(piece);
    }
    assert_eq!(reader.remaining(), 0);
}

fn read_every_other<S: ReadAt>(model: &mut Model<S>, info: &TensorInfo, values: &mut [f32]) {
    let ranges = [AxisRange::ALL, AxisRange::ALL.step_by(2)];
    let mut reader = model.tensor(info).and_then(|reader| reader.slice(&ranges)).expect("it has two axes");
    while let Ok(Some(piece)) = reader.next_lossless(values) {
        black_box(piece);
    }
}

fn elements(c: &mut Criterion) {
    for values in BUFFERS {
        let mut group = c.benchmark_group(format!("to f32, {} KiB at a time", values * 4 / 1024));
        group.sample_size(10).throughput(Throughput::Bytes(VALUES as u64 * 4));
        let (from, mut to) = (vec![1f32; VALUES], vec![0f32; values]);
        group.bench_function("plain copy", |bencher| {
            bencher
                .iter(|| from.chunks(values).for_each(|piece| black_box(&mut to[..]).copy_from_slice(piece)));
        });
        for (dtype, width) in DTYPES {
            let file = file(dtype, width);
            let (mut memory, info) = opened(&file[..]);
            let mut bench = |name, work: &mut dyn FnMut(&mut [f32])| {
                group.bench_function(BenchmarkId::new(name, dtype), |bencher| bencher.iter(|| work(&mut to)));
            };
            bench("from memory", &mut |to| read(&mut memory, &info, to));
            bench("from a card", &mut |to| read(&mut opened(Card(&file)).0, &info, to));
            bench("every other column", &mut |to| read_every_other(&mut memory, &info, to));
        }
    }
}

criterion_group!(benches, elements);
criterion_main!(benches);
