//! Gives the wrong models to the APIs.

use super::apis::{Api, Refusal, SUMS, read_matrix};
use super::models::{Bytes, DAMAGED, MATCHED, NET, UNMATCHED, WRONG};
use embedded_safetensors::Model;

/// Checks that the APIs read the right model, and that none gives a number of a wrong one. `refused` is told
/// what each wrong model is, and how the last API refused it.
///
/// # Panics
/// If an API does something else.
pub fn check(apis: &[(&str, Api)], mut refused: impl FnMut(&str, &Refusal)) {
    assert!(WRONG.len() >= 20);
    let readers = apis.iter().chain(&SUMS);
    for (name, api) in readers {
        assert_eq!(api(&Bytes::right()), Ok(()), "{name}");
    }
    for wrong in &WRONG {
        let outcomes = apis.iter().map(|(name, api)| (*name, api(&wrong.file())));
        let last =
            outcomes.map(|(name, outcome)| refusal(name, wrong.what, outcome, wrong.code, wrong.sentence));
        let last = last.inspect(|refusal| assert_eq!(refusal.tensor, wrong.tensor, "{}", wrong.what)).last();
        refused(wrong.what, &last.expect("there are APIs"));
    }
    for damaged in &DAMAGED {
        let opened = Model::open_with(&damaged.file()[..], &mut NET.clone(), &mut [0; 64]).map(drop);
        assert_eq!(opened, Ok(()), "{}: only the sum can tell", damaged.what);
        let outcomes = SUMS.iter().map(|(name, api)| (*name, api(&damaged.file())));
        let last =
            outcomes.map(|(name, outcome)| refusal(name, damaged.what, outcome, "integrity.sum", "")).last();
        refused(damaged.what, &last.expect("there are APIs"));
    }
    assert_eq!(read_matrix(&MATCHED.file(), MATCHED.group), Ok(()));
    for wrong in &UNMATCHED {
        let outcome = read_matrix(&wrong.file(), wrong.group);
        refused(wrong.what, &refusal("Matrix", wrong.what, outcome, wrong.code, wrong.sentence));
    }
}

/// Returns the refusal of a wrong model, which must have this code, and this in its sentence.
fn refusal(api: &str, what: &str, outcome: Result<(), Refusal>, code: &str, part: &str) -> Refusal {
    let Err(refusal) = outcome else { panic!("{api} accepts a model that is {what}") };
    let sentence = Bytes::text(&refusal.kind);
    let sentence = core::str::from_utf8(&sentence).expect("a text");
    assert_eq!(refusal.kind.code(), code, "{api}, {what}");
    assert!(sentence.contains(part), "{api}, {what}: {sentence}");
    refusal
}
