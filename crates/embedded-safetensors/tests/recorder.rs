//! The example that people copy to record on a device, on flash whose reads fail.

#[allow(dead_code)] // it has a `main`, too
#[path = "../examples/recorder.rs"]
mod recorder;

use recorder::support::chip::Chip;

/// A chip with recording 1 in partition 0 and recording 2 in partition 1.
fn recorded() -> Chip {
    let mut chip = Chip::new();
    recorder::record(&mut chip, [0.25, 0.5, 0.75]).expect("nothing fails");
    recorder::record(&mut chip, [0.5, 1.0, 1.5]).expect("nothing fails");
    chip
}

#[test]
fn a_read_that_fails_never_costs_the_newest_recording() {
    let mut failed = 0;
    for read in 0..100 {
        let mut chip = recorded();
        chip.fail_read(read);
        let outcome = recorder::record(&mut chip, [0.75, 1.5, 2.25]);
        chip.restart();
        let newest = recorder::newest(&mut chip).expect("nothing fails");
        let expected = if outcome.is_ok() { (3, 0) } else { (2, 1) };
        assert_eq!(newest, Some(expected), "read {read}: {outcome:?}");
        failed += u32::from(outcome.is_err());
    }
    assert!((1..100).contains(&failed), "{failed}");
}

#[test]
fn what_was_interrupted_is_recorded_again() {
    let mut chip = recorded();
    chip.lose_power_after(3);
    recorder::record(&mut chip, [0.75, 1.5, 2.25]).expect_err("the power goes");
    chip.restart();
    assert_eq!(recorder::newest(&mut chip).expect("nothing fails"), Some((2, 1)));
    recorder::record(&mut chip, [0.75, 1.5, 2.25]).expect("nothing fails");
    assert_eq!(recorder::newest(&mut chip).expect("nothing fails"), Some((3, 0)));
}
