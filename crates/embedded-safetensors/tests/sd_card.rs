//! Files recorded on a card with the driver that firmware has for it, which seeks no further than where a file ends.

#[path = "../examples/support/card.rs"]
mod card;

use embedded_safetensors::{
    Dtype, ErrorKind, WriteError,
    io::Seekable,
    validate::{SortSlot, validate},
    write::{FileSpec, TensorSpec, Writer},
};
use embedded_sdmmc::{Mode, VolumeIdx};

const TENSORS: [TensorSpec<'_>; 2] =
    [TensorSpec::new("gains", Dtype::F32, &[3]), TensorSpec::new("log", Dtype::U8, &[5000])];

/// Records over a file with these bytes that is opened so, and gives the error, or what is on the card then.
fn record(old: &[u8], mode: Mode) -> Result<Vec<u8>, ErrorKind> {
    let card = card::with_file("LOG.ST", old).expect("a card works");
    let volume = card.open_volume(VolumeIdx(0)).expect("it has one");
    let root = volume.open_root_dir().expect("it has one");
    let file = root.open_file_in_dir("LOG.ST", mode).expect("it is there");
    let plan = FileSpec::new(&TENSORS).plan().expect("it is in order");
    let mut sector = [0; 512];
    let mut recorder = match Writer::record(Seekable::new(file), plan, &mut sector) {
        Err(WriteError::Format(error)) => return Err(error.kind),
        other => other.expect("the card works"),
    };
    recorder.write(&[0.25_f32, 0.5, 0.75]).expect("it is due");
    [7; 5000].chunks(333).for_each(|piece| recorder.write_bytes(piece).expect("it is due"));
    recorder.finish().expect("it is complete").into_inner().close().expect("the card works");

    let file = root.open_file_in_dir("LOG.ST", Mode::ReadOnly).expect("it is there");
    let mut bytes = vec![0; file.length() as usize];
    file.read(&mut bytes).expect("the card works");
    Ok(bytes)
}

#[test]
fn files_are_recorded_on_a_card() {
    let expected: Vec<u8> =
        [0.25_f32, 0.5, 0.75].into_iter().flat_map(f32::to_le_bytes).chain([7; 5000]).collect();
    for (old, mode) in [
        (0, Mode::ReadWriteAppend),
        (5, Mode::ReadWriteAppend),
        (700, Mode::ReadWriteAppend),
        (700, Mode::ReadWriteTruncate),
        (60_000, Mode::ReadWriteCreateOrTruncate),
    ] {
        let file = record(&vec![1; old], mode).expect("it has room");
        validate(&file, &mut [SortSlot::EMPTY; 2], &mut []).expect("it is sound");
        assert!(file.ends_with(&expected), "{old}, {mode:?}");
    }
}

#[test]
fn a_longer_file_on_a_card_is_refused() {
    let error = record(&[1; 60_000], Mode::ReadWriteAppend).expect_err("it is longer");
    assert!(matches!(error, ErrorKind::Longer { len: 60_000, .. }), "{error}");
}
