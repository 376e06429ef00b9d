//! Every way to write makes the same file.

use embedded_safetensors::write::{FilePlan, Placement, PlannedContent, Writer};
use support::dictionary::{Dictionary, Kinds};
use support::random::Random;
use support::writing::{Description, write_planned};

fn record(dictionary: &Dictionary, plan: FilePlan<'_>) -> Vec<u8> {
    let mut memory = vec![0xAA; usize::try_from(plan.file_len()).expect("it is small")];
    let mut buffer = [0; 48];
    let mut recorder = Writer::record(&mut memory[..], plan, &mut buffer).expect("there is room");
    for planned in plan.tensors() {
        if let PlannedContent::Tensor { index, .. } = planned.content {
            recorder.write_bytes(&dictionary.tensors[index].bytes).expect("it is due");
        }
    }
    recorder.finish().expect("all is there");
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
            description.spec().with_placement(placement).plan_sorted(&mut memory).expect("it is sound"),
        );
    }
}

#[test]
fn what_is_recorded_is_what_is_written() {
    each_plan(2000, |dictionary, plan| assert!(record(dictionary, plan) == write_planned(dictionary, plan)));
}

#[cfg(feature = "std")]
#[test]
fn a_file_of_the_system_is_what_is_written() {
    let folder = std::env::temp_dir().join(format!("embedded-safetensors-ways-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is a place for temporary files");
    let path = folder.join("model.safetensors");
    each_plan(100, |dictionary, plan| {
        let written = safetensors_files::write_file(&path, plan.spec(), |file| {
            dictionary.tensors.iter().try_for_each(|tensor| file.write_tensor(&tensor.name, &tensor.bytes))
        });
        written.expect("it works");
        assert!(std::fs::read(&path).expect("it is there") == write_planned(dictionary, plan));
    });
    let plain = folder.join("plain");
    std::fs::write(&plain, []).expect("it works");
    let permissions = |path: &std::path::Path| path.metadata().expect("it is there").permissions();
    assert_eq!(permissions(&path), permissions(&plain));
    std::fs::remove_dir_all(&folder).expect("it is ours");
}
