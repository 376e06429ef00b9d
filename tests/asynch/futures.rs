//! Sizes of the futures, and that they are `Send` where the storage's futures are.

use core::slice;

use embedded_io_async::Read;
use embedded_safetensors::asynch::{self, Model, ReadAt, Seekable};
use embedded_safetensors::integrity::{Crc32, Sha256};
use embedded_safetensors::write::{FileSpec, TensorSpec};
use embedded_safetensors::{Dtype, index::IndexStorage, query::Query, slice::AxisRange, validate::SortSlot};
use support::executor::finish;
use support::sink::{Sink, SinkPlan};
use support::waiting::{Waiting, Waits};

use crate::asynch::file;
use crate::recording::cards::Card;

const WAITS: Waits = Waits { before: 1, after: 1 };

/// The documented size of a model's futures, besides the storage's futures.
const OF_A_MODEL: usize = if cfg!(target_pointer_width = "32") { 600 } else { 800 };

/// The same of a reader's futures.
const OF_A_READER: usize = if cfg!(target_pointer_width = "32") { 100 } else { 160 };

/// The same of a slice reader's futures.
const OF_A_SLICE: usize = 440;

/// The same of futures that read values.
const OF_VALUES: usize = if cfg!(target_pointer_width = "32") { 176 } else { 256 };

/// The same of futures that read ahead.
const OF_READING_AHEAD: usize = if cfg!(target_pointer_width = "32") { 330 } else { 550 };

/// Requires a `Send` future of at most this size, besides the storage's.
fn small<F: Future + Send>(most: usize, future: F) -> F {
    small_besides(size_of_val(&storage(&[]).read_at(0, &mut [])), most, future)
}

fn small_besides<F: Future + Send>(of_storage: usize, most: usize, future: F) -> F {
    let size = size_of::<F>();
    assert!(size <= most + of_storage, "it has {size} bytes, {of_storage} of the storage");
    future
}

fn storage(file: &[u8]) -> Seekable<Waiting<Card>> {
    Seekable::new(Waiting::new(Card::holding(file.to_vec()), WAITS))
}

#[test]
fn model_futures_are_small_and_send() {
    let file = file();
    let (mut slots, mut window, mut text) = ([SortSlot::EMPTY; 3], [0; 64], [0; 64]);
    let mut memory = IndexStorage::<3, 2, 7>::new();
    drop(small(OF_A_MODEL, Model::open(&mut storage(&file), &mut window)));
    drop(small(OF_A_MODEL, Model::open_indexed(&mut storage(&file), memory.memory(), &mut window)));
    let mut source = storage(&file);
    let opening = small(OF_A_MODEL, Model::open_unordered(&mut source, &mut slots, &mut window));
    let mut model = finish(opening).expect("valid file");
    drop(small(OF_A_MODEL, model.find("a", &mut window)));
    drop(small(OF_A_MODEL, model.find_all(&mut [Query::required("a")], &mut window)));
    drop(small(OF_A_MODEL, model.for_each(&mut text, &mut window, |_| {})));
    drop(small(OF_A_MODEL, model.metadata_value("unit", &mut text, &mut window)));
    drop(small(OF_A_MODEL, model.metadata(&mut text, &mut window)));
    drop(small(OF_A_MODEL, model.metadata_as::<Vec<u8>>(&mut text, &mut window)));
    drop(small(OF_A_MODEL, model.metadata_value_as::<u8>("count", &mut text, &mut window)));
    drop(small(OF_A_MODEL, model.build_index(memory.memory(), &mut window)));
    drop(small(OF_A_MODEL, model.index_size(&mut window)));
    drop(small(OF_A_MODEL, model.validate_names([0, 0], &mut slots, &mut text, &mut window)));
    drop(small(OF_A_MODEL, model.check_unchanged(&mut window)));
}

/// A future holds the sum before its first poll and while it is computed.
#[test]
fn futures_of_sums_are_small_and_send() {
    let (file, mut slots, mut window) = (file(), [SortSlot::EMPTY; 3], [0; 64]);
    let [crc, sha] = [size_of::<Crc32>(), size_of::<Sha256>()].map(|sum| OF_A_MODEL + 2 * sum);
    let opening = Model::open_unordered(storage(&file), &mut slots, &mut window);
    let mut model = finish(opening).expect("valid file");
    drop(small(crc, model.sum(Crc32::new(), &mut window)));
    drop(small(sha, model.sum(Sha256::new(), &mut window)));
    drop(small(sha, model.data_sum(Sha256::new(), &mut window)));
    drop(small(sha, model.verify(Sha256::new(), &[0; 32], &mut window)));
    drop(small(sha, model.verify_embedded(Sha256::new(), &mut window)));
    let a = finish(model.find("a", &mut window)).expect("read").expect("found");
    let mut reader = model.reader(&a).expect("of this file");
    let of_a_reader = 2 * OF_A_READER + 2 * size_of::<Sha256>();
    drop(small(of_a_reader, reader.sum(Sha256::new(), &mut window)));
}

#[test]
fn reader_futures_are_small_and_send() {
    let file = file();
    let (mut slots, mut window, mut buffer) = ([SortSlot::EMPTY; 3], [0; 64], [0; 64]);
    let opening = Model::open_unordered(storage(&file), &mut slots, &mut window);
    let mut model = finish(opening).expect("valid file");
    let a = finish(model.find("a", &mut window)).expect("readable").expect("present");
    let mut reader = model.reader(&a).expect("tensor of this file");
    drop(small(OF_A_READER, reader.next_chunk(&mut buffer)));
    drop(small(OF_A_READER, reader.read_at(0, &mut buffer)));
    drop(small(OF_A_READER, reader.read(&mut buffer)));
    assert_eq!(finish(small(OF_A_READER, reader.read_to_end(&mut buffer))), Ok(&b"xy"[..]));
    let mut slice = reader.slice(&[AxisRange::ALL]).expect("in range");
    let (mut floats, mut doubles) = ([0f32; 4], [0f64; 4]);
    drop(small(OF_A_SLICE, slice.next_chunk(&mut buffer)));
    drop(small(OF_A_SLICE, slice.read_to_end(&mut buffer)));
    let mut values = slice.values();
    drop(small(OF_A_SLICE, values.read(&mut floats)));
    drop(small(OF_A_SLICE, values.read_exact(&mut doubles)));
    let mut rounded = values.rounded();
    drop(small(OF_A_SLICE, rounded.read(&mut doubles)));
    drop(small(OF_A_SLICE, rounded.read_exact(&mut floats)));
}

#[test]
fn values_futures_are_small_and_send() {
    let file = file();
    let (mut slots, mut window) = ([SortSlot::EMPTY; 3], [0; 64]);
    let opening = Model::open_unordered(storage(&file), &mut slots, &mut window);
    let mut model = finish(opening).expect("valid file");
    let long = finish(model.find("long", &mut window)).expect("readable").expect("present");
    let mut reader = model.reader(&long).expect("tensor of this file").values();
    drop(small(OF_VALUES, reader.read(&mut [0f32; 2])));
    drop(small(OF_VALUES, reader.read_exact(&mut [0f64; 2])));
    let mut rounded = reader.rounded();
    drop(small(OF_VALUES, rounded.read_exact(&mut [0f32; 3])));
    let mut values = [0f64; 3];
    assert_eq!(finish(small(OF_VALUES, rounded.read(&mut values))).map(<[f64]>::len), Ok(3));
    let mut rows = model.reader(&long).and_then(|reader| reader.rows(0..3)).expect("in range");
    drop(small(OF_VALUES, rows.read(&mut [0f32; 1])));
    assert_eq!(finish(small(OF_VALUES, rows.read_exact(&mut [0f64; 1]))), Ok(()));
    let mut ahead = model.read_ahead(slice::from_ref(&long)).expect("of this file");
    drop(small(OF_READING_AHEAD, ahead.for_each([&mut [0_f32; 2], &mut [0_f32; 2]], async |_| {})));
}

#[test]
fn writer_futures_are_small_and_send() {
    let tensors = [TensorSpec::new("gain", Dtype::F32, &[2])];
    let plan = FileSpec::new(&tensors).plan().expect("valid description");
    let [mut sink, mut other] = [(); 2].map(|()| Sink::new(SinkPlan::default()));
    let of_sink = size_of_val(&embedded_io_async::Write::write(&mut Waiting::new(&mut other, WAITS), &[]));
    let most = |wide, narrow| if cfg!(target_pointer_width = "32") { narrow } else { wide };
    let mut window = [0; 16];
    let begin = asynch::Writer::new(Waiting::new(&mut sink, WAITS), plan, &mut window);
    let mut writer = finish(small_besides(of_sink, most(660, 450), begin)).expect("succeeds");
    drop(small_besides(of_sink, most(200, 120), writer.write_bytes(&[])));
    drop(small_besides(of_sink, most(200, 120), writer.write_tensor("gain", &[])));
    drop(small_besides(of_sink, most(280, 200), writer.write(&[1_f32])));
    drop(small_besides(of_sink, most(460, 320), writer.finish()));
}
