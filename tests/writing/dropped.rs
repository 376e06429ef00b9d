//! A future that is dropped where it waits for a sink that has taken nothing yet: the writer goes on from there.

use embedded_safetensors::{
    Dtype, asynch,
    write::{FilePlan, FileSpec, Placement, TensorSpec},
};
use support::executor::{drop_at, finish};
use support::mock::Reads;
use support::random::Random;
use support::sink::{Habits, Sink};
use support::waiting::{Waiting, Waits};

const WAITS: Waits = Waits { before: 1, after: 0 };

const TENSORS: [TensorSpec<'_>; 3] = [
    TensorSpec::new("gain", Dtype::F32, &[50]),
    TensorSpec::new("code", Dtype::U16, &[7]),
    TensorSpec::new("tail", Dtype::U8, &[3]),
];

fn sink() -> Sink {
    Sink::new(Habits { takes: Reads::AtMost(5), ..Habits::default() })
}

fn gain() -> Vec<f32> {
    (0..50u16).map(f32::from).collect()
}

/// The data of all tensors, one after another.
fn data() -> [Vec<u8>; 3] {
    let code = (1..8_u16).flat_map(u16::to_le_bytes).collect();
    [gain().iter().flat_map(|value| value.to_le_bytes()).collect(), code, vec![1, 2, 3]]
}

fn plans() -> [FilePlan<'static>; 2] {
    let spec = FileSpec::new(&TENSORS);
    [spec, spec.with_placement(Placement::Padded(32))].map(|spec| spec.plan().expect("it is in order"))
}

/// The file that is written without a pause.
fn file(plan: FilePlan<'_>) -> Vec<u8> {
    let mut sink = sink();
    let mut writer =
        finish(asynch::Writer::new(Waiting::new(&mut sink, WAITS), plan, &mut [0; 32])).expect("it works");
    finish(writer.write(&gain())).expect("they are due");
    for (tensor, bytes) in TENSORS.iter().zip(data()).skip(1) {
        finish(writer.write_tensor(tensor.name(), &bytes)).expect("it is due");
    }
    finish(writer.finish()).expect("all is there");
    sink.file
}

#[test]
fn a_dropped_beginning_is_no_file() {
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
fn a_writer_goes_on_where_it_was_dropped() {
    for plan in plans() {
        for seed in 0..200 {
            let (mut random, mut sink, mut drops) = (Random::new(seed), sink(), 0);
            let begun = finish(asynch::Writer::new(Waiting::new(&mut sink, WAITS), plan, &mut [0; 32]));
            let mut writer = begun.expect("it works");
            while let Some(due) = writer.next_tensor() {
                let rest = &data()[due.index][usize::try_from(due.position).expect("it is small")..];
                match drop_at(random.below(6), writer.write_bytes(rest)) {
                    Some(outcome) => outcome.expect("they are due"),
                    None => drops += 1,
                }
            }
            finish(writer.finish()).expect("all is there");
            assert!(drops > 5 && sink.file == file(plan));
        }
    }
}

#[test]
fn values_go_on_where_they_were_dropped() {
    for plan in plans() {
        for wait in 0..45 {
            let mut sink = sink();
            let begun = finish(asynch::Writer::new(Waiting::new(&mut sink, WAITS), plan, &mut [0; 32]));
            let mut writer = begun.expect("it works");
            let outcome = drop_at(wait, writer.write(&gain()));
            assert_eq!(outcome.is_some(), wait >= 40);
            while let Some(due) = writer.next_tensor() {
                let rest = &data()[due.index][usize::try_from(due.position).expect("it is small")..];
                finish(writer.write_bytes(rest)).expect("they are due");
            }
            finish(writer.finish()).expect("all is there");
            assert!(sink.file == file(plan));
        }
    }
}
