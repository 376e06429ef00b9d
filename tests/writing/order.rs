//! The file does not depend on the order of the description, nor on the run, nor on the target.

use std::mem::take;

use embedded_safetensors::{
    Dtype,
    header::{Event, HeaderParser},
    write::{FileSpec, PlannedContent, SpecErrorKind, SpecPart, TensorSpec},
};
use support::dictionary::{Dictionary, Kinds};
use support::random::Random;
use support::writing::{Description, read, write, write_planned};

/// Number of tensors, number of keys, and the checksum of the file, which is the same on every target.
const CHECKSUMS: [(usize, Option<usize>, &str); 9] = [
    (0, Some(2), "4d00c0959122e0bf614884bf75e85b38d7d3bdb95858b76a2732d946f613bbdf"),
    (3, Some(2), "f0210292b4db178e0447e97e8e8c8b2bd9ac2ee03df078aa58ad5f01cae7bf04"),
    (1, Some(3), "bf6a81a1f06b9fb11feba20be3d0e59827223f38a33f7588dcff16e686261b0e"),
    (5, Some(10), "cd7650965df910baa285c53a3b56c9ac46c483703968a9550fc2702a238cd4ba"),
    (40, Some(100), "0cb35be7fd58f1211ad2ae67e4753e7933ba99a408c8369d10e1c9a536c08754"),
    (0, Some(2000), "312ae3a689a54a8bdb8f84cc8221817f66669c92344baf5e4feef493caca7b9c"),
    (7, Some(2000), "65193e5dae405669b7013236bd46b819eb0abc63b7c5197f79b438ec3e877e80"),
    (1000, None, "a91ddd791dcf2c611fe191ded95b8d34a2a90877dac16a5f572af0bf48e2446f"),
    (3000, Some(300), "60a9cd854e7be89d555b25d91f66e625e1072be2cefe386407639f2733c2d290"),
];

pub fn dictionary(tensors: usize, keys: Option<usize>) -> Dictionary {
    let mut random = Random::new(tensors as u64);
    let metadata = keys.and_then(|keys| Dictionary::of_pairs(keys, &mut random).metadata);
    Dictionary { metadata, ..Dictionary::of(tensors, Kinds::Fixed, &mut random) }
}

/// Returns the same in the file's order.
fn in_order(dictionary: &Dictionary) -> Dictionary {
    let tensors = dictionary.in_order().into_iter().cloned().collect();
    Dictionary { tensors, metadata: dictionary.clone().sorted().metadata }
}

#[test]
fn every_order_gives_the_same_file() {
    let mut random = Random::new(1);
    for (tensors, keys, checksum) in CHECKSUMS {
        let mut dictionary = dictionary(tensors, keys);
        let file = dictionary.file();
        assert_eq!(vectors::sha256(&file), checksum);
        for _ in 0..5 {
            assert!(write(&dictionary) == file, "{tensors} tensors, {keys:?} keys");
            dictionary.shuffle(&mut random);
        }
        assert!(read(&file).sorted() == dictionary.sorted());
    }
}

#[test]
fn out_of_order_is_reported_at_the_first() {
    let sorted = in_order(&dictionary(40, Some(20)));
    let error_of = |dictionary: &Dictionary| {
        let error = Description::new(dictionary).spec().plan().expect_err("out of order");
        (error.kind, error.part)
    };
    for index in 1..40 {
        let mut dictionary = sorted.clone();
        dictionary.tensors.swap(index - 1, index);
        assert_eq!(error_of(&dictionary), (SpecErrorKind::OutOfOrder, SpecPart::Tensor(index)));
        // The last one comes first, after none.
        let mut dictionary = sorted.clone();
        dictionary.tensors[index - 1..].rotate_right(1);
        assert_eq!(error_of(&dictionary), (SpecErrorKind::OutOfOrder, SpecPart::Tensor(index)));
    }
    for index in 1..20 {
        let mut dictionary = sorted.clone();
        dictionary.metadata.as_mut().expect("has keys").swap(index - 1, index);
        assert_eq!(error_of(&dictionary), (SpecErrorKind::OutOfOrder, SpecPart::Key(index)));
    }
}

#[test]
fn plan_as_given_keeps_the_order() {
    let mut random = Random::new(2);
    for (tensors, keys, _) in CHECKSUMS {
        let mut dictionary = dictionary(tensors, keys);
        dictionary.shuffle(&mut random);
        let description = Description::new(&dictionary);
        let plan = description.spec().plan_as_given(&mut description.memory()).expect("valid description");
        let indices: Vec<_> = plan.tensors().map(|planned| planned.content).collect();
        let given = |(index, spec)| PlannedContent::Tensor { index, spec };
        assert_eq!(indices, description.tensors.iter().enumerate().map(given).collect::<Vec<_>>());
        let file = write_planned(&dictionary, plan);
        assert_eq!(names_in(&file), names_of(&dictionary));
        assert!(read(&file).sorted() == dictionary.clone().sorted());
        if tensors < 2 && keys.is_none_or(|keys| keys < 2) {
            assert!(file == dictionary.file());
        }
    }
}

/// Returns the names in a header in order, and then the keys.
fn names_in(file: &[u8]) -> [Vec<Vec<u8>>; 2] {
    let (mut parser, mut input) = (HeaderParser::new(), file);
    let (mut names, mut keys, mut text) = (vec![], vec![], vec![]);
    loop {
        match parser.next(&mut input).expect("valid description") {
            Event::Name(piece) | Event::Key(piece) | Event::Value(piece) => text.extend(piece.as_bytes()),
            Event::Tensor => names.push(take(&mut text)),
            Event::KeyEnd => keys.push(take(&mut text)),
            Event::Metadata | Event::ValueEnd => text.clear(),
            Event::HeaderEnd => return [names, keys],
            _ => {}
        }
    }
}

fn names_of(dictionary: &Dictionary) -> [Vec<Vec<u8>>; 2] {
    let names = dictionary.tensors.iter().map(|tensor| tensor.name.clone().into()).collect();
    [names, dictionary.metadata.iter().flatten().map(|(key, _)| key.clone().into()).collect()]
}

/// With quadratic time this takes hours.
#[test]
fn very_many_ordered_tensors_are_planned() {
    let names: Vec<_> = (0..400_000).map(|number| format!("{number:06}")).collect();
    let spec = |at: usize| TensorSpec::new(&names[at], [Dtype::F32, Dtype::U8][at / 200_000], &[8]);
    let tensors: Vec<_> = (0..names.len()).map(spec).collect();
    let plan = FileSpec::new(&tensors).plan().expect("in order");
    assert_eq!(plan.data_len(), 200_000 * 32 + 200_000 * 8);
    let reversed: Vec<_> = tensors.iter().rev().copied().collect();
    let mut memory = vec![0; tensors.len()];
    let sorted = FileSpec::new(&reversed).plan_sorted(&mut memory).expect("valid description");
    assert_eq!(sorted.header_len(), plan.header_len());
}
