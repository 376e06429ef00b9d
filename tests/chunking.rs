//! Chunking does not matter: however a file is cut, events, positions and errors are the same.

use support::share::{self, Half};
use support::split::Split;
use support::trace::Trace;
use vectors::Vector;

halves! {
    every_split_in_two_and_single_bytes
    every_split_in_three
    long_files_in_pieces
}

/// The vectors that are cut at every byte: all but the recipes for longer files.
fn small(half: Half) -> impl Iterator<Item = (Vector, Vec<u8>)> {
    half.vectors(4200).map(|vector| {
        let bytes = vector.bytes();
        (vector, bytes)
    })
}

fn same(vector: &Vector, file: &[u8], expected: &Trace, split: Split) {
    assert!(Trace::of(file, split) == *expected, "{} is read differently when cut {split:?}", vector.id);
}

fn every_split_in_two_and_single_bytes(half: Half) {
    for (vector, file) in small(half) {
        let expected = Trace::of(&file, Split::WHOLE);
        (0..=file.len()).for_each(|cut| same(&vector, &file, &expected, Split::Once(cut)));
        same(&vector, &file, &expected, Split::Every(1));
    }
}

fn every_split_in_three(half: Half) {
    let short = small(half).filter(|(_, file)| file.len() <= 256).enumerate();
    for (_, (vector, file)) in short.filter(|(number, _)| share::takes(*number)) {
        let expected = Trace::of(&file, Split::WHOLE);
        for first in 0..=file.len() {
            (first..=file.len())
                .for_each(|second| same(&vector, &file, &expected, Split::Twice(first, second)));
        }
    }
}

/// Most recipes are too long for every split. All of them are cut into pieces of one byte and of an odd size;
/// all but the longest are also cut once at the error, at the file's start and at its end.
fn long_files_in_pieces(half: Half) {
    for vector in half.few_large().filter(|vector| vector.recipe.is_some()) {
        let file = vector.bytes();
        let expected = Trace::of(&file, Split::WHOLE);
        [1, 4097].into_iter().for_each(|size| same(&vector, &file, &expected, Split::Every(size)));
        if vector.is_large() {
            continue;
        }
        let error_at = expected.error.map_or(0, |error| usize::try_from(error.at).expect("fits in usize"));
        for cut in [1, 8, 9, error_at, error_at + 1, file.len() - 1] {
            same(&vector, &file, &expected, Split::Once(cut.min(file.len())));
        }
    }
}
