//! Records a running network: the outputs of each layer and the digits, in a file that is streamed to
//! storage. The Python package safestructures opens it as nested dictionaries.

use crate::demo::Observer;
use crate::digits::COUNT;
use crate::network::WIDTHS;
use crate::report::Event;
use embedded_safetensors::{
    Dtype, WriteAt, WriteError,
    write::{self, FilePlan, FileSpec, TensorSpec, Writer},
};

/// The number of outputs of all layers for an image.
const VALUES: usize = {
    let [_, fc1, fc2, fc3, logits] = WIDTHS;
    fc1 + fc2 + fc3 + logits
};

/// The outputs of each layer for the first image, those of all layers for each other image, and the digits.
static TENSORS: [TensorSpec<'static>; 6] = [
    TensorSpec::new("first.fc1", Dtype::F32, &[WIDTHS[1] as u64]),
    TensorSpec::new("first.fc2", Dtype::F32, &[WIDTHS[2] as u64]),
    TensorSpec::new("first.fc3", Dtype::F32, &[WIDTHS[3] as u64]),
    TensorSpec::new("first.fc4", Dtype::F32, &[WIDTHS[4] as u64]),
    TensorSpec::new("others", Dtype::F32, &[COUNT as u64 - 1, VALUES as u64]),
    TensorSpec::new("guesses", Dtype::U8, &[COUNT as u64]),
];

/// The schema of `{"first": {"fc1": …, "fc2": …, "fc3": …, "fc4": …}, "others": …, "guesses": …}`, as
/// `embedded_safestructures::write` makes it. It never changes, so it takes no RAM.
const SCHEMA: &str = concat!(
    r#"{"data_type": "dict", "value": {"first": {"data_type": "dict", "value": {"#,
    r#""fc1": {"data_type": "numpy.ndarray", "value": "first.fc1"}, "#,
    r#""fc2": {"data_type": "numpy.ndarray", "value": "first.fc2"}, "#,
    r#""fc3": {"data_type": "numpy.ndarray", "value": "first.fc3"}, "#,
    r#""fc4": {"data_type": "numpy.ndarray", "value": "first.fc4"}}, "#,
    r#""keys": {"fc1": {"data_type": "str", "value": "fc1"}, "fc2": {"data_type": "str", "value": "fc2"}, "#,
    r#""fc3": {"data_type": "str", "value": "fc3"}, "fc4": {"data_type": "str", "value": "fc4"}}}, "#,
    r#""others": {"data_type": "numpy.ndarray", "value": "others"}, "#,
    r#""guesses": {"data_type": "numpy.ndarray", "value": "guesses"}}, "#,
    r#""keys": {"first": {"data_type": "str", "value": "first"}, "#,
    r#""others": {"data_type": "str", "value": "others"}, "guesses": {"data_type": "str", "value": "guesses"}}}"#,
);

/// Returns the metadata of a recording: its schema, the board, and the file name of the model.
pub const fn origin<'a>(board: &'a str, model: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("_safestructures_schema_", SCHEMA),
        ("_safestructures_schema_version_", "1.0.0"),
        ("board", board),
        ("model", model),
    ]
}

/// A recording of a running network, which it observes.
///
/// The storage is not touched before the network has its first outputs: as long as there is no model to
/// read, an older recording stays. From then until [`finish`](Self::finish) has succeeded, there is no
/// valid recording.
///
/// *Memory*: 328 bytes and twice the storage on a 32-bit target, and the page.
pub struct Recording<'a, W: WriteAt> {
    plan: FilePlan<'a>,
    /// The storage and the page until recording begins.
    waiting: Option<(W, &'a mut [u8])>,
    writer: Option<Writer<'a, write::Recording<'a, W>>>,
    /// The first error. The network continues after it.
    outcome: Result<(), WriteError<W::Error>>,
    guesses: [u8; COUNT],
    read: usize,
}

impl<'a, W: WriteAt> Recording<'a, W> {
    /// Creates a recording in this storage, written in pages of this size.
    ///
    /// # Errors
    /// This [`origin`] is invalid: its keys are out of order, or it is too long.
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

    /// Writes the rest. After that, the recording is valid.
    ///
    /// # Errors
    /// Any error since the first outputs, or outputs are missing. Then there is no valid recording.
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
        if let Some(slot) = self.guesses.get_mut(self.read) {
            *slot = guess;
            self.read += 1;
        }
    }
}

/// Checks the number in the documentation, for a storage of 8 bytes.
#[cfg(target_pointer_width = "32")]
const _: () = assert!(size_of::<Recording<'_, &mut [u8]>>() == 328 + 2 * 8);
