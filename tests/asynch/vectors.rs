//! Every conformance vector through the asynchronous form, whose verdict and bytes are those of the manifest.
//! A quick run takes a share of them: it reads each vector through some asynchronous source in `apis`.

use embedded_safetensors::asynch::{Model, TensorReader};
use embedded_safetensors::{ErrorKind, ReadError, tensor::MAX_RANK};
use support::context::Context;
use support::executor::finish;
use support::memory::Memory;
use support::mock::{Fault, Plan, Reads, Storage};
use support::share::{self, Half};
use support::verdict::slots_for;
use support::waiting::{Source, SourceKind, Waits};
use vectors::{Ours, Vector, sha256};

const WAITS: Waits = Waits { before: 1, after: 1 };
const WINDOWS: [usize; 4] = [1, 16, 17, 1 << 20];
const READS: [Reads; 3] = [Reads::Whole, Reads::AtMost(7), Reads::Random(1)];

/// The largest element has 8 bytes.
const BUFFERS: [usize; 4] = [8, 13, 512, 1 << 20];

/// Longer files are read in the fastest way alone.
const LONG: usize = 3000;

halves! { every_vector_is_read_from_awaited_storage }

fn every_vector_is_read_from_awaited_storage(half: Half) {
    for (number, vector) in half.vectors(usize::MAX).enumerate().filter(|(number, _)| share::takes(*number)) {
        let file = vector.bytes();
        let sample = Sample { number, vector: &vector, file: &file };
        for (kind, reads, window) in sample.ways() {
            let _context = Context(|| format!("{}, {kind:?}, {reads:?}, a window of {window}", vector.id));
            let storage = Storage::new(&file, Plan { reads, ..Plan::default() });
            sample.test_verdict(kind.source(&storage, WAITS), &mut vec![0; window]);
            if vector.ours == Ours::Accept {
                sample.test_tensors(kind.source(&storage, WAITS), &mut vec![0; window]);
            }
        }
    }
}

struct Sample<'v> {
    number: usize,
    vector: &'v Vector,
    file: &'v [u8],
}

impl Sample<'_> {
    fn ways(&self) -> Vec<(SourceKind, Reads, usize)> {
        let kinds = [SourceKind::Custom, SourceKind::Seekable];
        if self.file.len() > LONG {
            return vec![(kinds[self.number % 2], Reads::Whole, WINDOWS[3])];
        }
        let ways = kinds.into_iter().flat_map(|kind| READS.map(|reads| (kind, reads)));
        ways.flat_map(|(kind, reads)| WINDOWS.map(|window| (kind, reads, window))).collect()
    }

    fn test_verdict(&self, source: Source<'_>, window: &mut [u8]) {
        let mut slots = slots_for(self.file.len());
        let outcome = finish(async {
            let mut model = Model::open_unordered(source, &mut slots, window).await?;
            model.validate_names([1, 2], &mut slots, &mut [0; 64], window).await
        });
        let reported = outcome.map_err(|error: ReadError<Fault>| match error {
            ReadError::Format(error) => (error.kind.code().to_owned(), Some(error.at)),
            other => panic!("{other}"),
        });
        let code = self.vector.code.as_ref();
        assert_eq!(reported, code.map_or(Ok(()), |code| Err((code.clone(), self.vector.at))));
    }

    /// Reads each tensor that the manifest lists, found in an index and by a lookup.
    fn test_tensors(&self, source: Source<'_>, window: &mut [u8]) {
        let mut memory = Memory::ample(self.file);
        let opened = finish(Model::open_indexed(source, memory.lend(), window));
        let (mut model, index) = opened.expect("valid file");
        let rows = self.vector.tensors.as_deref().unwrap_or(&[]);
        assert_eq!(index.len(), self.vector.tensor_count.unwrap_or(rows.len()));
        for (number, row) in rows.iter().enumerate() {
            let _context = Context(|| row.name.clone());
            let tensor = index.find(&row.name).expect("valid file").expect("present");
            assert_eq!((tensor.dtype().name(), tensor.dims()), (&row.dtype[..], &row.shape[..]));
            let mut buffer = vec![0; BUFFERS[(self.number + number) % BUFFERS.len()]];
            let reader = model.reader(&tensor).expect("tensor of this file");
            assert_eq!(sha256(&in_chunks(reader, &mut buffer)), row.sha256);
            let found = finish(model.find(&row.name, window));
            if row.shape.len() > MAX_RANK {
                let Err(ReadError::Format(error)) = found else { panic!("{found:?}") };
                assert!(matches!(error.kind, ErrorKind::Rank { .. }), "{error}");
                continue;
            }
            let info = found.expect("valid file").expect("present");
            assert_eq!([info.begin(), info.end()], row.data_offsets);
        }
    }
}

fn in_chunks(reader: TensorReader<'_, &mut Source<'_>>, buffer: &mut [u8]) -> Vec<u8> {
    let (mut reader, mut bytes) = (reader.aligned_to(16).expect("a power of two"), Vec::new());
    while let Some(chunk) = finish(reader.next_chunk(buffer)).expect("readable") {
        bytes.extend(chunk);
        assert_eq!(reader.position(), bytes.len() as u64);
    }
    assert_eq!(reader.remaining(), 0);
    bytes
}
