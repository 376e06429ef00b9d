//! Flash that is awaited, read and recorded: it gets the same calls as from the blocking API.

use embedded_safetensors::asynch::{self, NorFile, ReadAt, Seekable, Writer};
use embedded_safetensors::{io, stream};
use support::executor::{drop_at, finish};
use support::mock::{Plan, Storage};
use support::random::Random;
use support::sources::Flash;
use support::waiting::{Waiting, Waits};
use support::{Chip, for_units};

use crate::recording::cards::Card;
use crate::recording::sample::Sample;

const WAITS: Waits = Waits { before: 1, after: 1 };
const START: u32 = 2048;

fn waiting<const UNIT: usize>(flash: &mut Chip<UNIT>) -> NorFile<Waiting<&mut Chip<UNIT>>> {
    NorFile::partition(Waiting::new(flash, WAITS), START..6144)
}

/// With units of this size: the same calls, and the same bytes.
fn compare_with_blocking<const UNIT: usize>() {
    for sample in [Sample::short(), Sample::long()] {
        let sample = sample.with_data_unit(UNIT);
        for (buffer, piece) in [(0, 1), (7, 3), (UNIT, 100), (1000, 7), (5000, 5000)] {
            let buffer = UNIT.max(8) + buffer;
            let (mut blocking, mut flash) = (Chip::<UNIT>::new(7), Chip::<UNIT>::new(7));
            let partition = io::NorFile::partition(&mut blocking, START..6144);
            sample.record(partition, buffer, piece).expect("succeeds");
            sample.record_waiting(waiting(&mut flash), buffer, piece).expect("succeeds");
            assert_eq!(flash.calls, blocking.calls, "{UNIT}: {buffer}, {piece}");
            assert!(flash.memory() == blocking.memory(), "{UNIT}: {buffer}, {piece}");
            let [mut received, mut awaited] = [(); 2].map(|()| Chip::<UNIT>::new(7));
            let partition = io::NorFile::partition(&mut received, START..6144);
            sample.receive(partition, 2 * buffer, piece).expect("fits");
            sample.receive_waiting(waiting(&mut awaited), 2 * buffer, piece).expect("fits");
            assert!(awaited.calls == received.calls && awaited.memory == received.memory);
        }
    }
}

#[test]
fn flash_recording_matches_blocking() {
    for_units!(1 4 32 256: compare_with_blocking());
}

/// However much arrives of a file of any announced length, both forms return the same errors and write the
/// same bytes.
#[test]
fn files_that_cannot_be_received_have_the_same_errors() {
    let file = [super::file(), vec![0; 3]].concat();
    let right = file.len() - 3;
    for announced in [7, 8, 50, right - 1, right, right + 1, right + 2] {
        for (buffer, sent) in
            [7, 16].into_iter().flat_map(|buffer| (0..=file.len()).map(move |sent| (buffer, sent)))
        {
            let ([mut memory, mut awaited], mut lent) =
                ([(); 2].map(|()| vec![7; right + 1]), vec![0; buffer]);
            let (len, sent) = (announced as u64, &file[..sent]);
            let blocking =
                stream::FileReceiver::new(&mut memory[..], len, &mut [], &mut lent).map(|mut receiver| {
                    [receiver.push(sent).map(drop), receiver.push(&[]).map(drop), receiver.finish().map(drop)]
                });
            let outcome = finish(async {
                let mut receiver =
                    asynch::FileReceiver::new(&mut awaited[..], len, &mut [], &mut lent).await?;
                let pushed = [receiver.push(sent).await.map(drop), receiver.push(&[]).await.map(drop)];
                Ok([pushed[0], pushed[1], receiver.finish().await.map(drop)])
            });
            assert_eq!((outcome, awaited), (blocking, memory), "{announced}: {}", sent.len());
        }
    }
}

#[test]
fn dropped_recording_continues() {
    let sample = Sample::long();
    for seed in 0..200 {
        let (mut random, mut card, mut drops) = (Random::new(seed), Card::default(), 0);
        sample.with_plan(|plan| {
            let data: Vec<u8> = sample.pieces(&plan, 50).flatten().copied().collect();
            let (storage, mut buffer) = (Seekable::new(Waiting::new(&mut card, WAITS)), [0; 16]);
            let mut writer = finish(Writer::record(storage, plan, &mut buffer)).expect("succeeds");
            while let Some(next) = writer.next_tensor() {
                let done = usize::try_from(writer.position() - plan.data_start()).expect("fits in usize");
                let len = usize::try_from(next.remaining).expect("fits in usize").min(1 + random.below(60));
                match drop_at(random.below(6), writer.write_bytes(&data[done..done + len])) {
                    Some(outcome) => outcome.expect("next in order"),
                    None => drops += 1,
                }
            }
            finish(writer.finish()).expect("complete");
        });
        assert!(drops > 5, "{drops}");
        assert_eq!(card.file, sample.file());
    }
}

/// Chips read in units of any size; reads begin and end anywhere.
fn test_reads<const READ_SIZE: usize>() {
    let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
    let storage = Storage::new(&bytes, Plan::default());
    let flash = Waiting::new(Flash::<READ_SIZE>::new(&storage, START), WAITS);
    let mut file = NorFile::partition(flash, START..START + 1000);
    for (offset, len) in [(0, 1), (1, 63), (64, 64), (3, 200), (511, 2), (990, 10), (990, 40), (1000, 1)] {
        // The memory begins at each alignment in turn.
        let mut memory = vec![0; len + 16];
        let at = usize::try_from(offset).expect("fits in usize") % 16;
        let buffer = &mut memory[at..at + len];
        for wait in 0..4 {
            let _ = drop_at(wait, file.read_at(offset, buffer));
        }
        let mut filled = 0;
        while filled < len {
            let at = offset + filled as u64;
            match finish(file.read_at(at, &mut buffer[filled..])).expect("succeeds") {
                0 => break,
                read => filled += read,
            }
        }
        let start = usize::try_from(offset).expect("fits in usize");
        let there = &bytes[start..bytes.len().min(start + len)];
        assert_eq!(buffer[..filled], *there, "{READ_SIZE}: {len} from {offset} on");
    }
}

#[test]
fn flash_with_any_unit_reads_at_any_offset() {
    for_units!(1 4 16 64: test_reads());
}
