//! Every way to write produces the same file.

use embedded_safetensors::write::{FilePlan, Placement, PlannedContent, Writer};
use support::dictionary::{Dictionary, Kinds};
use support::random::Random;
use support::writing::{Description, write_planned};

fn record(dictionary: &Dictionary, plan: FilePlan<'_>) -> Vec<u8> {
    let mut memory = vec![0xAA; usize::try_from(plan.file_len()).expect("fits in usize")];
    let mut buffer = [0; 48];
    let mut recorder = Writer::record(&mut memory[..], plan, &mut buffer).expect("fits");
    for planned in plan.tensors() {
        if let PlannedContent::Tensor { index, .. } = planned.content {
            recorder.write_bytes(&dictionary.tensors[index].bytes).expect("next in order");
        }
    }
    recorder.finish().expect("complete");
    memory
}

/// Calls `test` with random dictionaries and a plan of each.
fn each_plan(count: u64, test: impl Fn(&Dictionary, FilePlan<'_>)) {
    for seed in 0..count {
        let mut random = Random::new(seed);
        let mut dictionary = Dictionary::random(Kinds::All, &mut random);
        dictionary.tensors.retain(|tensor| !support::writing::is_padding(tensor));
        dictionary.shuffle(&mut random);
        let placement = random.pick(&[Placement::Start(8), Placement::BySize(32), Placement::Padded(64)]);
        let description = Description::new(&dictionary);
        let mut memory = description.memory();
        test(
            &dictionary,
            description.spec().with_placement(placement).plan_sorted(&mut memory).expect("valid description"),
        );
    }
}

#[test]
fn recorded_file_equals_written_file() {
    each_plan(2000, |dictionary, plan| assert!(record(dictionary, plan) == write_planned(dictionary, plan)));
}

#[cfg(feature = "std")]
#[test]
fn system_file_equals_written_file() {
    let directory = std::env::temp_dir().join(format!("embedded-safetensors-ways-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("temporary directory");
    let path = directory.join("model.safetensors");
    each_plan(100, |dictionary, plan| {
        let written = safetensors_files::write_file(&path, plan.spec(), |file| {
            dictionary.tensors.iter().try_for_each(|tensor| file.write_tensor(&tensor.name, &tensor.bytes))
        });
        written.expect("succeeds");
        assert!(std::fs::read(&path).expect("present") == write_planned(dictionary, plan));
    });
    let plain = directory.join("plain");
    std::fs::write(&plain, []).expect("succeeds");
    let permissions = |path: &std::path::Path| path.metadata().expect("present").permissions();
    assert_eq!(permissions(&path), permissions(&plain));
    std::fs::remove_dir_all(&directory).expect("owned by this test");
}
