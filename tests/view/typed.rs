//! Elements in place: of every type, and the errors where that is impossible.

use crate::view::fixtures::MODEL;
use embedded_safetensors::{
    Dtype, ErrorKind, Tensor, View, include_aligned,
    tensor::DtypeSet,
    values::{AlignedFile, Array},
};

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
fn array_must_have_the_tensors_shape() {
    fn shape_of<T: Array>(name: &str) -> Result<(), ErrorKind> {
        kind(MODEL.tensor(name).unwrap().as_array::<T>())
    }
    assert_eq!(shape_of::<[[f32; 3]; 2]>("conv.weight"), Ok(()));
    assert_eq!(MODEL.expect_array::<[[f32; 3]; 2]>("conv.weight")[1][0], -4.0);
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
