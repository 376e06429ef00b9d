//! All that can happen to a journal of three short sectors, whatever is interrupted, and however often.
//!
//! The flash is abstract: a place for a record is erased, has a record, or garbage; after an interruption it
//! may read as one or the other each time. A record does not read as erased by turns: that would be hundreds
//! of bits that change together. Nothing else is left out: each sequence of starts, changes and interruptions
//! is one of the states that are reached, because states that differ only in the numbers of their generations
//! are one.

#![allow(clippy::cast_possible_truncation)]

extern crate std;

use crate::error::SlotError;
use crate::journal::Journal;
use crate::offer::Offer;
use crate::state::{Change, RECORD, State};
use embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash};
use std::collections::{HashSet, VecDeque};
use std::vec::Vec;

const PLACES: usize = 4;
const SECTORS: usize = 3;
/// How many sectors have bits that read differently each time.
const FLAKY_SECTORS: usize = 1;

/// A record: its generation, whether it is the second copy, its base and its state.
type Row = (u32, bool, u8, u8);

/// What a place can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Content {
    Erased,
    /// Of an erasure, or a part of a record.
    Garbage,
    Record(Row),
}

use Content::{Erased, Garbage, Record};

/// What a place reads as: one or the other.
type Place = [Content; 2];
type Places = [Place; SECTORS * PLACES];

/// A flash, and the choices that are made: so far, and with how many possibilities each.
struct Flash<'c> {
    places: Places,
    choices: &'c mut Vec<(usize, usize)>,
    made: usize,
}

impl Flash<'_> {
    fn choose(&mut self, possibilities: usize) -> usize {
        if self.made == self.choices.len() {
            self.choices.push((0, possibilities));
        }
        self.made += 1;
        self.choices[self.made - 1].0
    }

    /// Changes places to one of these, the first of which is without an interruption.
    fn change(&mut self, at: usize, outcomes: &[&[Place]]) -> Result<(), NorFlashErrorKind> {
        let is_flaky = |places: &[Place]| places.iter().any(|[one, other]| one != other);
        let sectors = self.places.chunks(PLACES).enumerate();
        let flaky = sectors.filter(|(sector, places)| *sector != at / PLACES && is_flaky(places)).count();
        let outcomes: Vec<_> =
            outcomes.iter().filter(|places| flaky < FLAKY_SECTORS || !is_flaky(places)).collect();
        let outcome = self.choose(outcomes.len());
        self.places[at..at + outcomes[outcome].len()].copy_from_slice(outcomes[outcome]);
        if outcome == 0 { Ok(()) } else { Err(NorFlashErrorKind::Other) }
    }
}

/// The offer with this number in place of all bytes.
fn offer(number: u8) -> Offer {
    Offer { key: 0, device: [0; 16], len: 0, counter: 0, sum: [number; 32], signature: [0; 64] }
}

fn bytes_of(content: Content) -> [u8; RECORD] {
    match content {
        Erased => [0xFF; RECORD],
        Garbage => [0x5A; RECORD],
        Record((generation, is_second, base, state)) => {
            let mut bytes = [0xFF; RECORD];
            let change = if state == 0 { Change::None } else { Change::Next(state - 1, &offer(state)) };
            State::EMPTY.write(&change, base, generation, is_second, &mut bytes);
            bytes
        }
    }
}

impl ErrorType for Flash<'_> {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Flash<'_> {
    const READ_SIZE: usize = 64;

    fn read(&mut self, offset: u32, to: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        let (place, at) = (offset as usize / RECORD, offset as usize % RECORD);
        let [one, other] = self.places[place];
        let is_other = one != other && self.choose(2) == 1;
        let bytes = bytes_of(if is_other { other } else { one });
        to.copy_from_slice(&bytes[at..at + to.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        SECTORS * PLACES * RECORD
    }
}

impl NorFlash for Flash<'_> {
    const WRITE_SIZE: usize = RECORD;
    const ERASE_SIZE: usize = PLACES * RECORD;

    fn erase(&mut self, from: u32, _: u32) -> Result<(), NorFlashErrorKind> {
        let at = from as usize / RECORD;
        let old: [Place; PLACES] = self.places[at..at + PLACES].try_into().expect("a sector");
        let mixed = old.map(|[one, _]| [one, if one == Erased { Erased } else { Garbage }]);
        self.change(
            at,
            &[
                &[[Erased; 2]; PLACES],
                &old,
                &[[Erased; 2]; PLACES],
                &[[Garbage; 2]; PLACES],
                &[[Erased, Garbage]; PLACES],
                &old.map(|[one, _]| [one, Garbage]),
                &mixed,
            ],
        )
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        let at = offset as usize / RECORD;
        let mut state = State::EMPTY;
        state.read(bytes);
        let row = (State::generation_at(bytes), bytes[3] == b'2', state.base(), state.code(true));
        let record = Record(row);
        assert_eq!(bytes_of(record), bytes);
        assert_eq!(self.places[at], [Erased; 2], "it writes where something may be left");
        self.change(
            at,
            &[
                &[[record; 2]],
                &[self.places[at]],
                &[[record; 2]],
                &[[Garbage; 2]],
                &[[Garbage, record]],
                &[[Erased, Garbage]],
            ],
        )
    }
}

/// A flash after an interruption, and the states that it may have: the bits of 1 << state.
type Situation = (Places, u8);

/// Returns the situation with the lowest generations that have the same order.
fn canonical((mut places, allowed): Situation) -> Situation {
    let contents = || places.as_flattened().iter();
    let generations = contents().filter_map(|content| match content {
        Record((generation, ..)) => Some(*generation),
        _ => None,
    });
    let mut generations: Vec<u32> = generations.collect();
    generations.sort_unstable();
    generations.dedup();
    for content in places.as_flattened_mut() {
        if let Record((generation, ..)) = content {
            *generation = 1 + generations.partition_point(|other| other < generation) as u32;
        }
    }
    places.iter_mut().for_each(|place| place.sort_unstable());
    (places, allowed)
}

/// A start, and changes after it, until the power is cut or the device is reset. Returns the states that the
/// flash may have then.
fn start(flash: &mut Flash<'_>, allowed: u8) -> u8 {
    let (mut record, mut journal) = ([0; RECORD], Journal::new());
    let range = 0..flash.capacity() as u32;
    let Ok(is_settled) = journal.read(flash, &range, &mut record) else { return allowed };
    if !is_settled && journal.write(flash, &range, &Change::None, &mut record).is_err() {
        return allowed;
    }
    let state = journal.state.code(true);
    assert!(allowed & 1 << state != 0, "state {state} of {allowed:#b} in {:?}", flash.places);
    let mut allowed = 1u8 << state;
    for _ in 0..2 {
        if flash.choose(2) == 0 {
            break;
        }
        let next = if allowed == 0b10 { 2 } else { 1 };
        match journal.write(flash, &range, &Change::Next(next - 1, &offer(next)), &mut record) {
            Ok(()) => allowed = 1 << next,
            Err(SlotError::Flash(_)) => return allowed | 1 << next,
            Err(error) => panic!("{error}"),
        }
    }
    allowed
}

/// `PROVE` says for how long: 1 for some seconds, by hand a higher number, for all.
#[test]
fn no_sequence_of_interruptions_changes_a_state() {
    let first = canonical(([[Erased; 2]; SECTORS * PLACES], 1));
    let most = match std::env::var("PROVE").as_deref() {
        Err(_) => 10_000,
        Ok("1") => 1_000_000,
        Ok(_) => u64::MAX,
    };
    let (mut known, mut left) = (HashSet::from([first]), VecDeque::from([first]));
    let mut starts = 0u64;
    while let Some((places, allowed)) = left.pop_front().filter(|_| starts < most) {
        let mut choices = Vec::new();
        loop {
            let mut flash = Flash { places, choices: &mut choices, made: 0 };
            let after = start(&mut flash, allowed);
            starts += 1;
            let situation = canonical((flash.places, after));
            if known.insert(situation) {
                left.push_back(situation);
            }
            while choices.pop_if(|(made, of)| *made + 1 == *of).is_some() {}
            let Some((made, _)) = choices.last_mut() else { break };
            *made += 1;
        }
    }
    std::println!("{} situations, {starts} starts, {} left", known.len(), left.len());
    assert!(known.len() > 100 && known.iter().any(|(_, allowed)| allowed.count_ones() == 2));
}
