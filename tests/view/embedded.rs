//! Models that are read at compile time: the results are constants of the program.

use crate::view::fixtures::MODEL;
use embedded_safetensors::{
    __Embedded as Embedded, __room as room, Dtype, Error, Tensor, View, include_aligned, include_model,
    tensor::ANY_SIZE, validate::SortSlot, values::AlignedFile,
};

/// The path is relative to this file.
const EVERY_DTYPE: View<'_> = include_model!("../vectors/valid/dtype-all.safetensors", 16);
const BY_MANIFEST: View<'_> =
    include_model!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/valid/dtype-all.safetensors"), 4096);
const SHUFFLED: View<'_> = include_model!("../vectors/valid/layout-shuffled.safetensors", 4);
const EMPTY: View<'_> = include_model!("../vectors/valid/metadata-once.safetensors", 8,);
static BYTES: &AlignedFile<256, 1376> = include_aligned!("../vectors/valid/dtype-all.safetensors", 256);

static CONV: &[[f32; 3]; 2] = MODEL.expect_array("conv.weight");
static FC: &[i16; 4] = MODEL.expect_array("fc.weight");
static NONE: &[[f64; 0]; 2] = MODEL.expect_array("none");
static I8: &[i8; 1] = EVERY_DTYPE.expect_array("i8");
const F4: Tensor<'_> = EVERY_DTYPE.expect("f4", Dtype::F4, &[2]);
const ODD: Tensor<'_> = MODEL.expect("odd", Dtype::U8, &[ANY_SIZE]);
const TENSORS: [Tensor<'_>; MODEL.len()] = MODEL.to_array();
const IN_TABLE: View<'_> = MODEL.with_tensors(&TENSORS).with_unique_names();

#[test]
fn expected_tensors_are_found_at_compile_time() {
    assert_eq!(CONV, &[[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]);
    assert_eq!(FC, &[1, 2, 3, 4].map(i16::from_le));
    assert_eq!(NONE, &[[0.0; 0]; 2]);
    assert_eq!((I8, ODD.bytes()), (&[-100], &[7][..]));
    assert_eq!((F4.dtype(), F4.bytes()), (Dtype::F4, EVERY_DTYPE.tensor("f4").unwrap().bytes()));
}

#[test]
fn found_tensors_are_in_the_file() {
    let file = MODEL.file().as_ptr_range();
    assert_eq!(file.start.addr() % 64, 0);
    assert!(file.contains(&CONV.as_ptr().cast()) && file.contains(&FC.as_ptr().cast()));
    assert!(file.contains(&ODD.bytes().as_ptr()) && file.contains(&TENSORS[2].bytes().as_ptr()));
    let included = EVERY_DTYPE.file().as_ptr_range();
    assert!(included.contains(&I8.as_ptr().cast()) && included.contains(&F4.bytes().as_ptr()));
}

#[test]
fn included_file_is_aligned_and_stored_once() {
    let addresses = [EVERY_DTYPE, EVERY_DTYPE].map(|view| view.file().as_ptr());
    assert_eq!(addresses[0], addresses[1]);
    assert_eq!(BY_MANIFEST.file().as_ptr().addr() % 4096, 0);
    assert_eq!(BYTES.as_ptr().addr() % 256, 0);
    assert_eq!(&BYTES[..], include_bytes!("../vectors/valid/dtype-all.safetensors"));
    assert_eq!(BYTES.bytes(), BY_MANIFEST.file());
}

/// Asserts that two views of the same file list the same, in the same order.
fn assert_same(a: &View<'_>, b: &View<'_>) {
    assert_eq!((a.summary(), a.data(), a.is_empty()), (b.summary(), b.data(), b.is_empty()));
    assert!(a.metadata().eq(b.metadata()));
    let rows = |view: &View<'_>| -> Vec<String> {
        let row = |tensor: Result<Tensor<'_>, Error>| {
            tensor.map(|tensor| format!("{tensor:?} {:?}", tensor.bytes()))
        };
        view.tensors().map(|tensor| row(tensor).unwrap()).collect()
    };
    assert_eq!(rows(a), rows(b));
    for tensor in a.tensors().flatten() {
        let name = tensor.name().to_string();
        assert_eq!(b.tensor(&name).map(|found| format!("{found:?}")), Ok(format!("{tensor:?}")));
    }
    assert!(a.find("missing").unwrap().is_none() && b.find("missing").unwrap().is_none());
}

#[test]
fn const_and_run_time_views_are_equal() {
    for view in [EVERY_DTYPE, BY_MANIFEST, SHUFFLED, EMPTY, MODEL, IN_TABLE] {
        let parsed = View::parse_unordered(view.file(), &mut [SortSlot::EMPTY; 2]).unwrap();
        assert_same(&view, &parsed);
        assert_same(&parsed, &view);
    }
    assert_eq!((EVERY_DTYPE.len(), SHUFFLED.len(), EMPTY.len(), MODEL.len()), (22, 5, 1, 5));
    assert_eq!((MODEL.is_empty(), View::parse(b"\x02\0\0\0\0\0\0\0{}").unwrap().is_empty()), (false, true));
}

/// What a compiler does for `include_model!`, done by a program.
#[test]
fn embedding_at_run_time_gives_the_same_model() {
    let shuffled = include_aligned!("../vectors/valid/layout-shuffled.safetensors", 4);
    let (one, other) = (Embedded::<64>::new(BYTES), Embedded::<64>::new(shuffled));
    let (tensors, links) = (one.tensors::<22>(), one.links::<22>());
    assert_same(&one.view(&tensors, &links), &EVERY_DTYPE);
    let (tensors, links) = (other.tensors::<5>(), other.links::<5>());
    assert_same(&other.view(&tensors, &links), &SHUFFLED);
    assert_eq!((one.tensor_count(), other.tensor_count()), (22, 5));
    assert_same(&View::embed(BYTES), &EVERY_DTYPE);
    assert_eq!(format!("{BYTES:?}"), "AlignedFile<256, 1376>");
    // A tensor takes more than 32 bytes of the header, or of what there is of it.
    let file = [&80_u64.to_le_bytes()[..], &[b' '; 100]].concat();
    assert_eq!([0, 7, 8, 39, 40, 87, 88, 108].map(|len| room(&file[..len])), [0, 0, 0, 0, 1, 2, 2, 2]);
}

#[test]
fn table_of_another_model_is_not_used() {
    let view = EMPTY.with_tensors(&TENSORS);
    assert!(view.find("odd").unwrap().is_none());
    assert_eq!(view.tensors().len(), 1);
}

/// Everything that a view can do, at compile time.
const READ: (usize, bool, [u8; 2], Option<char>) = {
    let model = match View::parse(MODEL.file()) {
        Ok(model) => model,
        Err(_) => panic!("valid file"),
    };
    let Ok(Some(value)) = model.metadata_value("archA") else { panic!("it has that key") };
    let Ok(tensor) = model.tensor("late") else { panic!("it has that tensor") };
    let Some(Ok(first)) = model.tensors().next_tensor() else { panic!("it has tensors") };
    let [a, b] = tensor.bytes() else { panic!("it has two bytes") };
    let is_first = first.name().is("conv.weight")
        && model.validate_names([0, 0], &mut [SortSlot::EMPTY; 8], &mut [0; 8]).is_ok();
    (model.len(), is_first, [*a, *b], value.chars().next_char())
};

#[test]
fn all_view_functions_are_const() {
    assert_eq!(READ, (5, true, [8, 9], Some('"')));
}
