//! Gives the wrong models to the APIs.

use super::apis::{Api, Rejection, SUMS, read_matrix};
use super::models::{Bytes, DAMAGED, MATRIX, NET, WRONG, WRONG_MATRICES};
use embedded_safetensors::Model;

/// Checks that the APIs read the right model, and that none gives a number of a wrong one. `rejected` is told
/// what each wrong model is, and how the last API rejected it.
///
/// # Panics
/// If an API does something else.
pub fn check(apis: &[(&str, Api)], mut rejected: impl FnMut(&str, &Rejection)) {
    for (name, api) in apis {
        assert_eq!(api(&Bytes::right()), Ok(()), "{name}");
    }
    for wrong in &WRONG {
        let mut last = None;
        for (name, api) in apis {
            let rejection = rejection(name, wrong.what, api(&wrong.file()), (wrong.code, wrong.sentence));
            assert_eq!(rejection.tensor, wrong.tensor, "{name}, {}", wrong.what);
            last = Some(rejection);
        }
        rejected(wrong.what, &last.expect("there are APIs"));
    }
    check_sums(&mut rejected);
    assert_eq!(read_matrix(&MATRIX.file(), MATRIX.group), Ok(()));
    for wrong in &WRONG_MATRICES {
        let outcome = read_matrix(&wrong.matrix.file(), wrong.matrix.group);
        rejected(wrong.what, &rejection("Matrix", wrong.what, outcome, (wrong.code, wrong.sentence)));
    }
}

fn check_sums(rejected: &mut impl FnMut(&str, &Rejection)) {
    for (name, api, right) in SUMS {
        assert_eq!(api(&right()), Ok(()), "{name}");
    }
    for damaged in &DAMAGED {
        let mut last = None;
        for (name, api, right) in SUMS {
            let file = damaged.file(right());
            let opened = Model::open_with(&file[..], &mut NET.clone(), &mut [0; 64]).map(drop);
            assert_eq!(opened, Ok(()), "{}: only the sum can tell", damaged.what);
            last = Some(rejection(name, damaged.what, api(&file), ("integrity.sum", "is expected")));
        }
        rejected(damaged.what, &last.expect("there are APIs"));
    }
}

/// Returns the rejection of a wrong model, which must have this code, and this in its sentence.
fn rejection(api: &str, what: &str, outcome: Result<(), Rejection>, (code, part): (&str, &str)) -> Rejection {
    let Err(rejection) = outcome else { panic!("{api} accepts a model that is {what}") };
    let sentence = Bytes::text(&rejection.kind);
    let sentence = core::str::from_utf8(&sentence).expect("a text");
    assert_eq!(rejection.kind.code(), code, "{api}, {what}");
    assert!(sentence.contains(part), "{api}, {what}: {sentence}");
    rejection
}
