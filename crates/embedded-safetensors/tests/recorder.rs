//! Tests the example that users copy to record on a device, with flash whose reads fail.

#[allow(dead_code)] // the example's `main`
#[path = "../examples/recorder.rs"]
mod recorder;

use embedded_storage::nor_flash::NorFlash;
use recorder::support::chip::Chip;

/// Creates a chip with recording 1 in partition 0 and recording 2 in partition 1.
fn recorded() -> Chip {
    let mut chip = Chip::new();
    recorder::record(&mut chip, [0.25, 0.5, 0.75]).expect("no failure");
    recorder::record(&mut chip, [0.5, 1.0, 1.5]).expect("no failure");
    chip
}

#[test]
fn failed_read_never_loses_the_newest_recording() {
    let mut failed = 0;
    for read in 0..100 {
        let mut chip = recorded();
        chip.fail_read(read);
        let outcome = recorder::record(&mut chip, [0.75, 1.5, 2.25]);
        chip.restart();
        let newest = recorder::newest(&mut chip).expect("no failure");
        let expected = if outcome.is_ok() { (3, 0) } else { (2, 1) };
        assert_eq!(newest, Some(expected), "read {read}: {outcome:?}");
        failed += u32::from(outcome.is_err());
    }
    assert!((1..100).contains(&failed), "{failed}");
}

/// A valid file of another program is recorded over, even if it has a number.
#[test]
fn partition_without_recording_is_recorded_over() {
    let entry = |name: &str, begin: u32| {
        format!(r#""{name}":{{"dtype":"U8","shape":[1],"data_offsets":[{begin},{}]}}"#, begin + 1)
    };
    for header in [
        format!("{{{}}}", entry("a", 0)),
        format!("{{{},{}}}", entry("a", 1), entry("b", 0)),
        format!(r#"{{"__metadata__":{{"number":"12345678901"}},{}}}"#, entry("a", 0)),
        format!(r#"{{"__metadata__":{{"number":"many"}},{}}}"#, entry("a", 0)),
        format!(r#"{{"__metadata__":{{"number":"9"}},{}}}"#, entry("gains", 0)),
        "nonsense".to_owned(),
    ] {
        let mut chip = recorded();
        let mut file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), b"xx"].concat();
        file.resize(file.len().next_multiple_of(4), 0xFF);
        chip.erase(0x4000, 0x6000).expect("no failure");
        chip.write(0x4000, &file).expect("no failure");
        assert_eq!(recorder::newest(&mut chip).expect("no failure"), Some((2, 1)), "{header}");
        recorder::record(&mut chip, [0.75, 1.5, 2.25]).expect("no failure");
        assert_eq!(recorder::newest(&mut chip).expect("no failure"), Some((3, 0)), "{header}");
    }
}

#[test]
fn interrupted_recording_is_repeated() {
    let mut chip = recorded();
    chip.lose_power_after(3);
    recorder::record(&mut chip, [0.75, 1.5, 2.25]).expect_err("power fails");
    chip.restart();
    assert_eq!(recorder::newest(&mut chip).expect("no failure"), Some((2, 1)));
    recorder::record(&mut chip, [0.75, 1.5, 2.25]).expect("no failure");
    assert_eq!(recorder::newest(&mut chip).expect("no failure"), Some((3, 0)));
}
