//! What a network does, recorded: the values behind each layer and what the images were read as, in a file that is streamed to storage
//! while the network works.

use crate::demo::Observer;
use crate::digits::COUNT;
use crate::network::WIDTHS;
use crate::report::Event;
use embedded_safetensors::{
    Dtype, WriteAt, WriteError,
    write::{self, FilePlan, FileSpec, TensorSpec, Writer},
};

/// How many values come out of all layers for an image.
const VALUES: usize = {
    let [_, fc1, fc2, fc3, logits] = WIDTHS;
    fc1 + fc2 + fc3 + logits
};

/// A row an image: what comes out of each layer, in their order. Then a digit an image.
static TENSORS: [TensorSpec<'static>; 2] = [
    TensorSpec::new("activations", Dtype::F32, &[COUNT as u64, VALUES as u64]),
    TensorSpec::new("guesses", Dtype::U8, &[COUNT as u64]),
];

/// What a recording says of where it comes from: the board, and the model by the name of its file.
pub const fn origin<'a>(board: &'a str, model: &'a str) -> [(&'a str, &'a str); 2] {
    [("board", board), ("model", model)]
}

/// A recording of a network at work, which it observes.
///
/// Storage is not touched before the network has its first values: as long as there is no model to read, an older recording stays.
/// After that, and until [`finish`](Self::finish) has succeeded, there is none.
///
/// *Memory*: 328 bytes and twice the storage where pointers have 32 bits, and the page.
pub struct Recording<'a, W: WriteAt> {
    plan: FilePlan<'a>,
    /// Until it begins.
    waiting: Option<(W, &'a mut [u8])>,
    writer: Option<Writer<'a, write::Recording<'a, W>>>,
    /// The first thing that went wrong. A network does not stop for it.
    outcome: Result<(), WriteError<W::Error>>,
    guesses: [u8; COUNT],
    read: usize,
}

impl<'a, W: WriteAt> Recording<'a, W> {
    /// Will be recorded in this storage, written in pages of this size.
    ///
    /// # Errors
    /// When there can be no file with this [`origin`]: its keys are out of order, or it is too long.
    pub fn new(
        storage: W,
        origin: &'a [(&'a str, &'a str)],
        page: &'a mut [u8],
    ) -> Result<Self, WriteError<W::Error>> {
        Ok(Self {
            plan: FileSpec::new(&TENSORS).with_metadata(origin).plan()?,
            waiting: Some((storage, page)),
            writer: None,
            outcome: Ok(()),
            guesses: [0; COUNT],
            read: 0,
        })
    }

    /// Writes what is left. From then on there is a recording.
    ///
    /// # Errors
    /// Whatever went wrong from the first values on, or that values are missing. Then there is none.
    pub fn finish(mut self) -> Result<Event<'static>, WriteError<W::Error>> {
        self.begin();
        self.outcome?;
        if let Some(mut writer) = self.writer {
            writer.write_bytes(self.guesses.get(..self.read).unwrap_or_default())?;
            writer.finish()?;
        }
        Ok(Event::Recorded { bytes: self.plan.file_len(), images: COUNT as u32, values: VALUES as u32 })
    }

    fn begin(&mut self) {
        if let Some((storage, page)) = self.waiting.take() {
            match Writer::record(storage, self.plan, page) {
                Ok(writer) => self.writer = Some(writer),
                Err(error) => self.outcome = Err(error),
            }
        }
    }
}

impl<W: WriteAt> Observer for Recording<'_, W> {
    fn layer(&mut self, outputs: &[f32]) {
        self.begin();
        if let (Some(writer), Ok(())) = (&mut self.writer, &self.outcome) {
            self.outcome = writer.write(outputs);
        }
    }

    fn guess(&mut self, guess: u8) {
        if let Some(place) = self.guesses.get_mut(self.read) {
            *place = guess;
            self.read += 1;
        }
    }
}

/// What is said of it above, of a storage of 8 bytes.
#[cfg(target_pointer_width = "32")]
const _: () = assert!(size_of::<Recording<'_, &mut [u8]>>() == 328 + 2 * 8);
