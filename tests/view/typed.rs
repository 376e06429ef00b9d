//! Elements in place: at every address, of every type, and the errors where that is impossible.

use crate::view::fixtures::{MODEL, NET, NET_DATA};
use embedded_safetensors::{
    Dtype, ErrorKind, Tensor, View, include_aligned,
    tensor::DtypeSet,
    values::{AlignedFile, Array, C64, Native},
};
use support::file::with_header;

static FILE: &AlignedFile<64, 1376> = include_aligned!("../vectors/valid/dtype-all.safetensors", 64);

/// Returns the same file at `shift` bytes after a multiple of 64.
fn shifted(file: &[u8], shift: usize) -> (Vec<u8>, usize) {
    let mut memory = vec![0; file.len() + 128];
    let begin = memory.as_ptr().addr().next_multiple_of(64) - memory.as_ptr().addr() + shift;
    memory[begin..begin + file.len()].copy_from_slice(file);
    (memory, begin)
}

fn kind<T>(outcome: Result<T, embedded_safetensors::Error>) -> Result<(), ErrorKind> {
    outcome.map(|_| ()).map_err(|error| error.kind)
}

/// Tests each of 64 addresses: the elements are the tensor's bytes, or the error reports the misalignment and
/// its cause.
fn at_every_address<T: Native>(name: &str) {
    let unit = align_of::<T>();
    for shift in 0..64 {
        let (memory, begin) = shifted(FILE, shift);
        let view = View::parse(&memory[begin..begin + FILE.len()]).unwrap();
        let tensor = view.tensor(name).unwrap();
        let (over, over_in_file) = (tensor.bytes().as_ptr().addr() % unit, tensor.at() % unit as u64);
        let byte = |number: usize| u8::try_from(number).unwrap();
        match tensor.as_slice::<T>() {
            Ok(elements) => {
                assert_eq!(over, 0);
                assert_eq!(elements.as_ptr().addr(), tensor.bytes().as_ptr().addr());
                assert_eq!(size_of_val(elements), tensor.bytes().len());
            }
            Err(error) => {
                let over_in_file = byte(usize::try_from(over_in_file).unwrap());
                let wrong = ErrorKind::Misaligned { unit: byte(unit), over: byte(over), over_in_file };
                assert_eq!(error, wrong.at(tensor.at()));
                assert_ne!(over, 0);
            }
        }
        assert_eq!(tensor.as_array::<[T; 1]>().is_ok(), over == 0);
    }
}

#[test]
fn typed_access_checks_the_address() {
    at_every_address::<u64>("u64");
    at_every_address::<i64>("i64");
    at_every_address::<f64>("f64");
    at_every_address::<C64>("c64");
    at_every_address::<f32>("f32");
    at_every_address::<u32>("u32");
    at_every_address::<i32>("i32");
    at_every_address::<half::bf16>("bf16");
    at_every_address::<half::f16>("f16");
    at_every_address::<u16>("u16");
    at_every_address::<i16>("i16");
    at_every_address::<i8>("i8");
    at_every_address::<u8>("u8");
}

/// Returns the result of each typed method.
fn by_name(tensor: &Tensor<'_>) -> [(Dtype, Result<(), ErrorKind>); 13] {
    [
        (Dtype::U8, kind(tensor.as_u8())),
        (Dtype::I8, kind(tensor.as_i8())),
        (Dtype::U16, kind(tensor.as_u16())),
        (Dtype::I16, kind(tensor.as_i16())),
        (Dtype::U32, kind(tensor.as_u32())),
        (Dtype::I32, kind(tensor.as_i32())),
        (Dtype::U64, kind(tensor.as_u64())),
        (Dtype::I64, kind(tensor.as_i64())),
        (Dtype::F32, kind(tensor.as_f32())),
        (Dtype::F64, kind(tensor.as_f64())),
        (Dtype::C64, kind(tensor.as_c64())),
        (Dtype::F16, kind(tensor.as_f16())),
        (Dtype::BF16, kind(tensor.as_bf16())),
    ]
}

#[test]
fn each_method_accepts_only_its_dtype() {
    // The data begin at byte 1309, so that at 3 after a multiple of 64 all of them are aligned.
    let (memory, begin) = shifted(FILE, 3);
    let view = View::parse(&memory[begin..begin + FILE.len()]).unwrap();
    for tensor in view.tensors().flatten() {
        for (asked, outcome) in by_name(&tensor) {
            let (query, found) = (None, tensor.dtype());
            let mismatch = ErrorKind::DtypeMismatch { query, found, asked: DtypeSet::of(&[asked]) };
            let expected = if asked == found { Ok(()) } else { Err(mismatch) };
            assert_eq!(outcome, expected, "{tensor:?}");
        }
    }
}

#[test]
fn elements_match_the_file() {
    let tensor = |name| MODEL.tensor(name).unwrap();
    assert_eq!(tensor("conv.weight").as_f32(), Ok(&[1.0, -2.0, 3.0, -4.0, 5.0, -6.0][..]));
    assert_eq!(tensor("conv.weight").as_array(), Ok(&[[1.0_f32, -2.0, 3.0], [-4.0, 5.0, -6.0]]));
    assert_eq!(tensor("fc.weight").as_i16(), Ok(&[1, 2, 3, 4][..]));
    assert_eq!(tensor("none").as_f64(), Ok(&[][..]));
    assert_eq!(tensor("none").as_array::<[[f64; 0]; 2]>(), Ok(&[[], []]));
    let late = tensor("late").as_u16().unwrap_err();
    assert_eq!(late, ErrorKind::Misaligned { unit: 2, over: 1, over_in_file: 1 }.at(tensor("late").at()));
}

#[test]
fn misalignment_messages() {
    let message = |over_in_file| ErrorKind::Misaligned { unit: 4, over: 3, over_in_file }.to_string();
    let late =
        "the elements begin 1 byte after a multiple of 4 in the file: read them as values, or align them";
    assert_eq!(message(1), late);
    let file = "in memory, the file and its elements begin 3 bytes after a multiple of 4: align the file";
    assert_eq!(message(0), file);
}

#[test]
fn array_must_have_the_tensors_shape() {
    fn shape_of<T: Array>(name: &str) -> Result<(), ErrorKind> {
        kind(MODEL.tensor(name).unwrap().as_array::<T>())
    }
    assert_eq!(shape_of::<[[f32; 3]; 2]>("conv.weight"), Ok(()));
    let query = None;
    let size = |axis, found, asked| Err(ErrorKind::ShapeMismatch { query, axis, found, asked });
    let rank = |found, asked| Err(ErrorKind::RankMismatch { query, found, asked });
    assert_eq!(shape_of::<[[f32; 2]; 3]>("conv.weight"), size(0, 2, 3));
    assert_eq!(shape_of::<[[f32; 4]; 2]>("conv.weight"), size(1, 3, 4));
    assert_eq!(shape_of::<[f32; 6]>("conv.weight"), rank(2, 1));
    assert_eq!(shape_of::<[[[f32; 3]; 2]; 1]>("conv.weight"), rank(2, 3));
    assert_eq!(shape_of::<f32>("conv.weight"), rank(2, 0));
    assert_eq!(shape_of::<[[f64; 2]; 0]>("none"), size(0, 2, 0));
    let asked = DtypeSet::of(&[Dtype::I32]);
    let outcome = shape_of::<[[i32; 9]; 9]>("odd");
    assert_eq!(outcome, Err(ErrorKind::DtypeMismatch { query, found: Dtype::U8, asked }));
}

#[test]
fn empty_tensors_are_always_aligned() {
    let header = r#"{"a":{"dtype":"F64","shape":[0,3],"data_offsets":[0,0]}}"#;
    for spaces in 0..8 {
        let file = with_header(&format!("{header}{}", " ".repeat(spaces)), 0);
        let tensor = View::parse(&file).unwrap().tensor("a").unwrap();
        assert_eq!(tensor.as_f64(), Ok(&[][..]));
        assert_eq!(tensor.as_array::<[[f64; 3]; 0]>(), Ok(&[]));
    }
}

#[test]
fn reader_reads_the_file_with_offsets() {
    let file = with_header(NET, 0);
    let file = [&file, NET_DATA].concat();
    let view = View::parse(&file).unwrap();
    let tensor = view.tensor("conv.weight").unwrap();
    let mut reader = tensor.reader();
    assert_eq!((reader.dtype(), reader.dims(), reader.byte_len()), (Dtype::F32, &[2, 3][..], 24));
    assert_eq!(reader.read_to_end(&mut [0; 24]), Ok(tensor.bytes()));
    let error = reader.seek(25).unwrap_err();
    assert_eq!(error, ErrorKind::OutsideTensor { asked: 25, len: 24 }.at(tensor.at() + 24));
}
