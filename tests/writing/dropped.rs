//! Sinks that are awaited: they get the same calls as those that block, and a future that is dropped while it
//! waits for a sink that has taken nothing yet leaves a writer that continues from there.

use embedded_safetensors::{
    Dtype, asynch,
    write::{FilePlan, FileSpec, Placement, TensorSpec, Writer},
};
use support::executor::{drop_at, finish};
use support::mock::{Failure, Reads};
use support::sink::{Sink, SinkPlan};
use support::waiting::{Waiting, Waits};

const WAITS: Waits = Waits { before: 1, after: 0 };

const TENSORS: [TensorSpec<'_>; 3] = [
    TensorSpec::new("gain", Dtype::F32, &[50]),
    TensorSpec::new("code", Dtype::U16, &[7]),
    TensorSpec::new("tail", Dtype::U8, &[3]),
];

fn sink() -> Sink {
    Sink::new(SinkPlan { takes: Reads::AtMost(5), ..SinkPlan::default() })
}

fn gain() -> Vec<f32> {
    (0..50u16).map(f32::from).collect()
}

/// Returns the data of all tensors.
fn data() -> [Vec<u8>; 3] {
    let code = (1..8_u16).flat_map(u16::to_le_bytes).collect();
    [gain().iter().flat_map(|value| value.to_le_bytes()).collect(), code, vec![1, 2, 3]]
}

fn plans() -> [FilePlan<'static>; 2] {
    let spec = FileSpec::new(&TENSORS);
    [spec, spec.with_placement(Placement::Padded(32))].map(|spec| spec.plan().expect("in order"))
}

/// Returns the file, written without interruption.
fn file(plan: FilePlan<'_>) -> Vec<u8> {
    let mut sink = sink();
    let mut writer =
        finish(asynch::Writer::new(Waiting::new(&mut sink, WAITS), plan, &mut [0; 32])).expect("succeeds");
    finish(writer.write(&gain())).expect("next in order");
    for (tensor, bytes) in TENSORS.iter().zip(data()).skip(1) {
        finish(writer.write_tensor(tensor.name(), &bytes)).expect("next in order");
    }
    finish(writer.finish()).expect("complete");
    sink.file
}

/// With a failure at each call, and without: the same outcome and the same bytes as in a sink that blocks.
#[test]
fn awaited_sink_gets_the_same_calls() {
    for (plan, call) in plans().into_iter().flat_map(|plan| (0..100).map(move |call| (plan, call))) {
        let failure = Some(Failure::Once(call));
        let failing = || Sink::new(SinkPlan { takes: Reads::AtMost(5), failure, ..SinkPlan::default() });
        let (mut waited, mut blocking, data) = (failing(), failing(), data());
        let outcome = finish(async {
            let waiting = Waiting::new(&mut waited, Waits { before: 1, after: 1 });
            let mut writer = asynch::Writer::new(waiting, plan, &mut [0; 32]).await?;
            for (tensor, bytes) in TENSORS.iter().zip(&data) {
                writer.write_tensor(tensor.name(), bytes).await?;
            }
            writer.finish().await.map(drop)
        });
        let expected = Writer::new(&mut blocking, plan, &mut [0; 32]).and_then(|mut writer| {
            let mut tensors = TENSORS.iter().zip(&data);
            tensors.try_for_each(|(tensor, bytes)| writer.write_tensor(tensor.name(), bytes))?;
            writer.finish().map(drop)
        });
        assert_eq!(
            (outcome, waited.counts().calls, &waited.file),
            (expected, blocking.counts().calls, &blocking.file)
        );
    }
}

#[test]
fn dropped_new_is_not_a_file() {
    for plan in plans() {
        let file = file(plan);
        for wait in 0.. {
            let mut sink = sink();
            let mut window = [0; 32];
            let begin = asynch::Writer::new(Waiting::new(&mut sink, WAITS), plan, &mut window);
            let is_begun = drop_at(wait, begin).is_some();
            assert!(file.starts_with(&sink.file));
            if is_begun {
                assert_eq!(sink.file.len() as u64, plan.data_start());
                break;
            }
            assert!((sink.file.len() as u64) < plan.data_start());
        }
    }
}

#[test]
fn dropped_write_continues() {
    for (plan, is_of_values) in plans().into_iter().flat_map(|plan| [(plan, false), (plan, true)]) {
        for wait in 0..45 {
            let mut sink = sink();
            let created = finish(asynch::Writer::new(Waiting::new(&mut sink, WAITS), plan, &mut [0; 32]));
            let mut writer = created.expect("succeeds");
            let outcome = match is_of_values {
                true => drop_at(wait, writer.write(&gain())),
                false => drop_at(wait, writer.write_bytes(&data()[0])),
            };
            // Values in another order of bytes are written in pieces of the window.
            let is_converted = is_of_values && cfg!(target_endian = "big");
            assert!(outcome.is_some() == (wait >= 40) || is_converted);
            while let Some(next) = writer.next_tensor() {
                let rest = &data()[next.index][usize::try_from(next.position).expect("fits in usize")..];
                finish(writer.write_bytes(rest)).expect("next in order");
            }
            finish(writer.finish()).expect("complete");
            assert!(sink.file == file(plan));
        }
    }
}
