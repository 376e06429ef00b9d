//! A model that is received as a stream: every method of `Receiver` and `Router`.

use crate::numbers::{bytes, indexed, number, summary, tensor};
use embedded_safetensors::{
    Error,
    index::IndexStorage,
    integrity::{Sha256, Verifier},
    query::Query,
    stream::{Receiver, Router, RouterEvent, Target},
};

pub fn all(file: &[u8], text: &mut [u8]) -> u64 {
    number(receive(file, text)) ^ number(route(file)) ^ number(verify(file))
}

fn verify(file: &[u8]) -> Result<u64, Error> {
    let new = || Verifier::new(Sha256::new());
    let (mut one, mut other) = (new(), new());
    for piece in file.chunks(16) {
        one.update(piece);
        other.update(piece);
    }
    one.verify()?;
    let sum = other.finish()?;
    Ok(sum.at ^ bytes(&sum.stored) ^ bytes(&sum.computed) ^ bytes(&sum.digits()))
}

fn receive(file: &[u8], text: &mut [u8]) -> Result<u64, Error> {
    let (a, b) = text.split_at_mut_checked(64).unwrap_or((&mut [], &mut []));
    let mut receiver =
        Receiver::new([Target::new(Query::required("a"), a), Target::new(Query::optional("b"), b)])
            .with_header_limit(file.len() as u64);
    for piece in file.chunks(16) {
        if receiver.push(piece)?.is_complete() {
            break;
        }
    }
    receiver.end_of_input()?;
    let mut sum = receiver.position() ^ receiver.remaining() ^ receiver.summary().map_or(0, summary);
    sum ^= receiver.targets().len() as u64;
    for target in receiver.into_targets() {
        sum ^= bytes(target.name().as_bytes()) ^ bytes(target.bytes().unwrap_or(&[]));
        sum ^= target.info().as_ref().map_or(0, tensor);
    }
    Ok(sum)
}

fn route(mut file: &[u8]) -> Result<u64, Error> {
    let mut storage = IndexStorage::<8, 16, 64>::new();
    let mut router = Router::new(storage.memory()).with_header_limit(file.len() as u64);
    let mut sum = 0;
    loop {
        sum ^= match router.next(&mut file)? {
            RouterEvent::NeedInput | RouterEvent::End => break,
            RouterEvent::Header => router.index().map_or(0, |index| index.len() as u64),
            RouterEvent::Data { tensor, offset, bytes: data } => indexed(&tensor) ^ offset ^ bytes(data),
        };
        sum ^= router.position() ^ router.remaining();
    }
    router.end_of_input()?;
    Ok(sum ^ router.into_index().map_or(0, |index| summary(index.summary())))
}
