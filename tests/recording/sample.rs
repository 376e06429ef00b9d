//! Files to record, and their bytes.

use embedded_safetensors::{
    Dtype, WriteAt, WriteError, asynch,
    stream::FileReceiver,
    write::{FilePlan, FileSpec, Placement, PlannedContent, TensorSpec, Writer},
};
use support::executor::finish;
use support::random::Random;

/// A file to record.
#[derive(Clone)]
pub struct Sample {
    tensors: &'static [TensorSpec<'static>],
    metadata: Option<&'static [(&'static str, &'static str)]>,
    placement: Placement,
    /// Of each tensor, in the order of the description.
    data: Vec<Vec<u8>>,
}

const ONE: &[TensorSpec<'_>] = &[TensorSpec::new("t", Dtype::U8, &[333])];

const LARGE: &[TensorSpec<'_>] = &[TensorSpec::new("t", Dtype::U8, &[24_512])];

const MANY: &[TensorSpec<'_>] = &[
    TensorSpec::new("bias", Dtype::F16, &[3]),
    TensorSpec::new("weight", Dtype::F32, &[9, 20]),
    TensorSpec::new("none", Dtype::I64, &[0]),
    TensorSpec::new("steps", Dtype::U8, &[77]),
];

const TEXT: &[(&str, &str)] = &[(
    "what",
    "a header that is longer than a unit of flash; a header that is longer than a unit of flash; a header \
    that is longer than a unit of flash; a header that is longer than a unit of flash",
)];

/// Returns bytes that no header ends with.
fn bytes(seed: u64, len: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.number().to_le_bytes()[0] | 0x80).collect()
}

impl Sample {
    pub fn new(tensors: &'static [TensorSpec<'static>], seed: u64) -> Self {
        let data = tensors
            .iter()
            .zip(seed..)
            .map(|(tensor, seed)| bytes(seed, tensor.byte_len().unwrap()))
            .collect();
        Self { tensors, metadata: None, placement: Placement::Start(8), data }
    }

    /// Returns a sample with the shortest header.
    pub fn short() -> Self {
        Self::new(ONE, 1)
    }

    /// Returns a sample of many pages.
    pub fn large() -> Self {
        Self::new(LARGE, 3)
    }

    /// Returns a sample with a header longer than 256 bytes.
    pub fn long() -> Self {
        Self { metadata: Some(TEXT), ..Self::new(MANY, 2) }
    }

    /// Replaces the data.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { metadata: self.metadata, placement: self.placement, ..Self::new(self.tensors, seed) }
    }

    /// Replaces the `__metadata__`.
    pub fn with_metadata(self, metadata: &'static [(&'static str, &'static str)]) -> Self {
        Self { metadata: Some(metadata), ..self }
    }

    /// Replaces the data with spaces, which a header may end with.
    pub fn with_blank_data(mut self) -> Self {
        self.data.iter_mut().for_each(|data| data.fill(b' '));
        self
    }

    pub fn with_placement(self, placement: Placement) -> Self {
        Self { placement, ..self }
    }

    /// Places the data at a multiple of this unit.
    pub fn with_data_unit(self, unit: usize) -> Self {
        self.with_placement(Placement::Start(u32::try_from(unit.max(8)).unwrap()))
    }

    pub fn with_plan<T>(&self, act: impl FnOnce(FilePlan<'_>) -> T) -> T {
        let spec = FileSpec::new(self.tensors).with_placement(self.placement);
        let spec = self.metadata.map_or(spec, |metadata| spec.with_metadata(metadata));
        act(spec.plan_sorted(&mut [0; 8]).expect("valid description"))
    }

    /// Returns the entire file: the header as its encoder spells it, and the data.
    pub fn file(&self) -> Vec<u8> {
        self.with_plan(|plan| {
            let mut file = vec![0; usize::try_from(plan.data_start()).unwrap()];
            plan.encoder().encode(&mut file);
            plan.tensors().for_each(|tensor| match tensor.content {
                PlannedContent::Tensor { index, .. } => file.extend(&self.data[index]),
                PlannedContent::Padding { .. } => {
                    file.resize(file.len() + usize::try_from(tensor.byte_len()).unwrap(), 0);
                }
            });
            file
        })
    }

    /// Records it in pieces of at most `piece` bytes.
    pub fn record<S: WriteAt>(
        &self,
        storage: S,
        buffer: usize,
        piece: usize,
    ) -> Result<S, WriteError<S::Error>> {
        let mut buffer = vec![0; buffer];
        self.with_plan(|plan| {
            let mut recorder = Writer::record(storage, plan, &mut buffer)?;
            self.pieces(&plan, piece).try_for_each(|piece| recorder.write_bytes(piece))?;
            recorder.finish()
        })
    }

    /// Stores the file as it arrives, in pieces of at most `piece` bytes.
    pub fn receive<S: WriteAt>(
        &self,
        storage: S,
        buffer: usize,
        piece: usize,
    ) -> Result<S, WriteError<S::Error>> {
        let (file, mut buffer) = (self.file(), vec![0; buffer]);
        let mut receiver = FileReceiver::new(storage, file.len() as u64, &mut [], &mut buffer)?;
        for piece in file.chunks(piece) {
            receiver.push(piece)?;
        }
        receiver.finish()
    }

    /// As [`receive`](Self::receive), in storage that is awaited.
    pub fn receive_waiting<S: asynch::WriteAt>(
        &self,
        storage: S,
        buffer: usize,
        piece: usize,
    ) -> Result<S, WriteError<S::Error>> {
        let (file, mut buffer) = (self.file(), vec![0; buffer]);
        finish(async {
            let len = file.len() as u64;
            let mut receiver = asynch::FileReceiver::new(storage, len, &mut [], &mut buffer).await?;
            for piece in file.chunks(piece) {
                receiver.push(piece).await?;
            }
            receiver.finish().await
        })
    }

    /// As [`record`](Self::record), in storage that is awaited.
    pub fn record_waiting<S: asynch::WriteAt>(
        &self,
        storage: S,
        buffer: usize,
        piece: usize,
    ) -> Result<S, WriteError<S::Error>> {
        let mut buffer = vec![0; buffer];
        self.with_plan(|plan| {
            finish(async {
                let mut recorder = asynch::Writer::record(storage, plan, &mut buffer).await?;
                for piece in self.pieces(&plan, piece) {
                    recorder.write_bytes(piece).await?;
                }
                recorder.finish().await
            })
        })
    }

    /// Returns the data in the order of the file.
    pub fn pieces<'a>(&'a self, plan: &FilePlan<'_>, piece: usize) -> impl Iterator<Item = &'a [u8]> {
        let order: Vec<usize> = plan
            .tensors()
            .filter_map(|tensor| match tensor.content {
                PlannedContent::Tensor { index, .. } => Some(index),
                PlannedContent::Padding { .. } => None,
            })
            .collect();
        order.into_iter().flat_map(move |index| self.data[index].chunks(piece))
    }
}
