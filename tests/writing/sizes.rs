//! The documented sizes of descriptions, plans and writers, and of a writer's futures.

use embedded_io_async::Write;
use embedded_safetensors::{
    Dtype, WriteError, asynch,
    write::{
        FilePlan, FileSpec, HeaderEncoder, NextTensor, Placement, PlannedContent, PlannedTensor,
        PlannedTensors, Recording, SpecError, SpecErrorKind, SpecPart, Streaming, TensorSpec, Writer,
    },
};
use support::executor::finish;
use support::sink::{Sink, SinkPlan};
use support::waiting::{Waiting, Waits};

/// Asserts that it has `wide` bytes where pointers have 64 bits. Where they have 32, it has at most `narrow`
/// bytes: fewer on targets that align 64 bits to 4 bytes.
fn assert_size<T>(wide: usize, narrow: usize) {
    let (size, name) = (size_of::<T>(), std::any::type_name::<T>());
    match cfg!(target_pointer_width = "32") {
        true => assert!(size <= narrow, "{name}: {size}"),
        false => assert_eq!(size, wide, "{name}"),
    }
}

#[test]
fn sizes_are_as_documented() {
    assert_size::<TensorSpec<'_>>(40, 20);
    assert_size::<FileSpec<'_>>(48, 28);
    assert_size::<Placement>(8, 8);
    assert_size::<SpecError>(40, 24);
    assert_size::<SpecErrorKind>(24, 16);
    assert_size::<SpecPart>(16, 8);
    assert_size::<WriteError<()>>(40, 32);
    assert_size::<FilePlan<'_>>(96, 56);
    assert_size::<PlannedTensor<'_>>(32, 24);
    assert_size::<PlannedContent<'_>>(16, 8);
    assert_size::<PlannedTensors<'_>>(64, 40);
    assert_size::<HeaderEncoder<'_>>(184, 120);
    assert_size::<NextTensor<'_>>(32, 24);
    assert_size::<Writer<'_, ()>>(120, 88);
    assert_size::<asynch::Writer<'_, ()>>(120, 88);
    assert_size::<Streaming<()>>(0, 0);
    assert_size::<Recording<'_, ()>>(120, 72);
    assert_size::<asynch::Recording<'_, ()>>(120, 72);
    assert_size::<Writer<'_, Recording<'_, ()>>>(240, 160);
}

const WAITS: Waits = Waits { before: 1, after: 1 };

/// Requires a `Send` future of at most this size, besides the sink's future.
fn small<F: Future + Send>(wide: usize, narrow: usize, future: F) -> F {
    let mut sink = Sink::new(SinkPlan::default());
    let of_the_sink = size_of_val(&Waiting::new(&mut sink, WAITS).write(&[]));
    let most = if cfg!(target_pointer_width = "32") { narrow } else { wide };
    let size = size_of::<F>();
    assert!(size <= most + of_the_sink, "it has {size} bytes, {of_the_sink} of the sink");
    future
}

#[test]
fn writer_futures_are_small_and_send() {
    let tensors = [TensorSpec::new("gain", Dtype::F32, &[2])];
    let plan = FileSpec::new(&tensors).plan().expect("valid description");
    let (mut sink, mut window) = (Sink::new(SinkPlan::default()), [0; 16]);
    let begin = asynch::Writer::new(Waiting::new(&mut sink, WAITS), plan, &mut window);
    let mut writer = finish(small(660, 450, begin)).expect("succeeds");
    drop(small(200, 120, writer.write_bytes(&[])));
    drop(small(200, 120, writer.write_tensor("gain", &[])));
    drop(small(280, 200, writer.write(&[1_f32])));
    drop(small(460, 320, writer.finish()));
}
