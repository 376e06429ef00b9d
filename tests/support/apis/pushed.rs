//! A file that arrives in pieces.

use std::collections::BTreeMap;

use embedded_safetensors::{
    Error, ErrorKind,
    header::{Entries, Item},
    query::Query,
    stream::{Receiver, Router, RouterEvent, Target},
};

use super::{Api, Case, Lack, api, lend};
use crate::contents::{contents, tensor_of};
use crate::memory::Memory;
use crate::random::Random;
use crate::split::Split;
use crate::verdict::Reader;

/// The limits of a reader of events.
const OF_EVENTS: &[Lack] = &[Lack::Names, Lack::Keys, Lack::Layout, Lack::Length, Lack::Tensors];

pub const APIS: [Api; 5] = [
    api("Validator and DuplicateFinder", &[Lack::Length], check),
    api("HeaderParser", OF_EVENTS, parse),
    api("Entries", &[Lack::Names, Lack::Keys, Lack::Layout, Lack::Length, Lack::Rank], list),
    api("Receiver", &[Lack::Names, Lack::Keys, Lack::Length, Lack::Order], receive),
    api("Router", &[Lack::Keys, Lack::Length], route),
];

/// Returns a split into pieces of one length, which may be one byte.
fn some_split(random: &mut Random) -> Split {
    let longest = random.pick(&[1, 8, 64, 300]);
    Split::Every(1 + random.below(longest))
}

fn check(case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let reader = Reader {
        split: some_split(random),
        slots: random.pick(&[None, Some(4)]),
        text: 1 + random.below(40),
        length_known: random.percent(50),
    };
    reader.verdict(case.file).map(|table| case.lists(table.tensors))
}

fn parse(case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let table = contents(case.file, some_split(random))?;
    if let Ok(expected) = &case.expected {
        assert_eq!(table, *expected);
    }
    Ok(())
}

fn list(case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let longest = case.tensors().iter().map(|tensor| tensor.name.len()).max().unwrap_or(0);
    if let Some(less) = longest.checked_sub(1).filter(|_| case.has_only_flat()) {
        let limit = ErrorKind::NameLength { needed: longest as u64, capacity: less as u64 };
        assert_eq!(list_with(case, random, less).map_err(|error| error.kind), Err(limit));
    }
    list_with(case, random, if case.is_valid() { longest } else { case.file.len() })
}

/// Lists the tensors with memory for names of this length.
fn list_with(case: &Case<'_>, random: &mut Random, longest: usize) -> Result<(), Error> {
    let mut name = vec![0; longest];
    let mut entries = Entries::new(&mut name);
    let mut tensors = Vec::new();
    for mut piece in some_split(random).pieces(case.file) {
        loop {
            match entries.next(&mut piece)? {
                Item::NeedInput => break,
                Item::Tensor(entry) => tensors.push(tensor_of(&entry)),
                Item::HeaderEnd => {
                    case.lists(tensors);
                    return Ok(());
                }
            }
        }
    }
    entries.end_of_input()
}

fn receive(case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let mut buffers: Vec<_> = case.flat().map(|tensor| vec![0; case.bytes(tensor).len()]).collect();
    let names = case.flat().map(|tensor| &tensor.name[..]);
    let targets: Vec<_> =
        names.zip(&mut buffers).map(|(name, buffer)| Target::new(Query::required(name), buffer)).collect();
    let mut receiver = Receiver::new(targets);
    some_split(random).pieces(case.file).try_for_each(|piece| receiver.push(piece).map(drop))?;
    receiver.end_of_input()?;
    for (target, tensor) in receiver.targets().iter().zip(case.flat()) {
        assert_eq!(target.bytes(), Some(case.bytes(tensor)), "{}", tensor.name);
    }
    Ok(())
}

fn route(case: &Case<'_>, random: &mut Random) -> Result<(), Error> {
    let mut memory = Memory::ample(case.file);
    let mut router = Router::new(lend(&mut memory, random));
    let mut arrived: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for mut piece in some_split(random).pieces(case.file) {
        loop {
            match router.next(&mut piece)? {
                RouterEvent::NeedInput | RouterEvent::End => break,
                RouterEvent::Header => {}
                RouterEvent::Data { tensor, offset, bytes } => {
                    let known = arrived.entry(tensor.name().to_owned()).or_default();
                    assert_eq!(known.len() as u64, offset, "{}", tensor.name());
                    known.extend(bytes);
                }
            }
        }
    }
    router.end_of_input()?;
    for tensor in case.tensors() {
        let bytes = arrived.get(&tensor.name).map_or(&[][..], |bytes| bytes);
        assert_eq!(bytes, case.bytes(tensor), "{}", tensor.name);
    }
    Ok(())
}
