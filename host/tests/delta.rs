//! `safetensors delta`: a device makes the new model again, byte for byte.
#![cfg(unix)]

use crate::support::{Place, model};
use chip::Chip;
use safetensors_slots::{Layout, Offer, Slots};
use sha2::{Digest, Sha256};

#[path = "../../crates/embedded-safetensors/examples/support/chip.rs"]
#[expect(dead_code, reason = "its power and its reads do not fail here")]
mod chip;

/// Makes a delta, with which a device that has the old model makes the new one. Returns the length of all
/// pieces.
#[track_caller]
fn delta(old: &[u8], new: &[u8]) -> u64 {
    let place = Place::new();
    place.put("old", old).put("new", new).done(["delta", "old", "new", "-o", "out"]);
    let delta = place.read("out");
    let [old_offer, new_offer] = [old, new].map(|file| {
        let (len, sum) = (u32::try_from(file.len()).expect("short"), Sha256::digest(file).into());
        Offer { key: 0, device: [0; 16], len, counter: 0, sum, signature: [0; 64] }
    });
    let layout = || Layout { region: 0..15 << 12, journal: 3, slots: 2 };
    let (mut chip, mut page, anybody) = (Chip::new(), [0; 256], |_: u32, _: &[u8], _: &[u8; 64]| true);
    let mut slots = Slots::new(&mut chip, layout(), &mut page);
    slots.start().and_then(|_| slots.receive(&old_offer)).and_then(|_| slots.push(old)).expect("a free slot");
    slots.verify(&old_offer, &anybody, &[0; 16], &mut []).expect("a valid model");
    slots.try_for(1).expect("a verified model");
    let mut slots = Slots::new(&mut chip, layout(), &mut page);
    slots.start().and_then(|_| slots.confirm()).expect("a tried model");
    slots.receive_delta(&new_offer).expect("a free slot");
    delta.chunks(100).for_each(|piece| slots.push_delta(piece).expect("pieces of the old model"));
    slots.verify(&new_offer, &anybody, &[0; 16], &mut []).expect("the new model");
    let header = u64::from_le_bytes(*delta.first_chunk().expect("a length"));
    delta.len() as u64 - 8 - header - 32
}

/// Bytes that look random, without an end.
fn noise(seed: u8) -> impl Iterator<Item = u8> {
    (0_u32..).flat_map(move |at| Sha256::digest([&[seed], &at.to_le_bytes()[..]].concat()))
}

/// A model of tensors of bytes.
fn made<B: AsRef<[u8]>>(rows: &[(&str, B)]) -> Vec<u8> {
    let shapes: Vec<_> = rows.iter().map(|(_, bytes)| [bytes.as_ref().len() as u64]).collect();
    let rows = rows.iter().zip(&shapes);
    let rows = rows.map(|((name, bytes), shape)| (*name, "U8", &shape[..], bytes.as_ref().to_vec()));
    model("", &rows.collect::<Vec<_>>())
}

#[test]
fn changed_bytes_are_new() {
    let old = made(&[("t", [0; 200])]);
    for (places, cost) in [(&[][..], 12), (&[199], 13), (&[100], 25), (&[100, 125], 38), (&[100, 124], 49)] {
        let mut bytes = [0; 200];
        places.iter().for_each(|at: &usize| bytes[*at] = 1);
        assert_eq!(delta(&old, &made(&[("t", bytes)])), cost, "{places:?}");
    }
}

/// Longer than what is compared at once.
#[test]
fn equal_tensors_and_their_first_rows_are_copied_wherever_they_are() {
    let b: Vec<u8> = noise(1).take(20_000).collect();
    let (a, c) = (&b[..1000], &b[1000..3000]);
    let changed: Vec<u8> = b.iter().map(|byte| byte ^ 0x55).collect();
    let longer = [&b[..], b"new"].concat();
    let old = made(&[("a", a), ("b", &b), ("none", &[]), ("c", c)]);
    for (rows, costs) in [
        ([("a", a), ("b", &changed), ("none", &[]), ("c", c)], 20_000..20_064),
        ([("a", a), ("b", &longer), ("none", &[]), ("c", c)], 3..300),
        ([("c", c), ("none", &[]), ("a", a), ("b", &b[..18_000])], 0..300),
    ] {
        let cost = delta(&old, &made(&rows));
        assert!(costs.contains(&cost), "{cost}, not {costs:?}");
    }
}

/// Tensors that are kept, changed, resized, dropped, moved and added.
#[test]
fn random_pairs() {
    let mut random = noise(0);
    let mut below = |limit: usize| usize::from(random.next().expect("a byte")) % limit;
    let mut draw = || {
        let mut names = ["a", "b", "c", "d", "e", "f"];
        names.sort_by_cached_key(|_| below(200));
        let rows = names[..below(7)].iter().map(|name| {
            let mut bytes: Vec<u8> = noise(name.as_bytes()[0]).take(below(200)).collect();
            bytes.iter_mut().skip(below(200)).step_by(1 + below(60)).for_each(|byte| *byte ^= 1);
            (*name, bytes)
        });
        made(&rows.collect::<Vec<_>>())
    };
    for _ in 0..100 {
        delta(&draw(), &draw());
    }
}
