//! The program of the boards and of the desktop: the text of a file is embedded, with progress and reads.

use super::{Embedder, Failure, LAYERS, MAX_TEXT, Memory, Tokens, Unusable, Vocabulary};
use crate::report::{Event, FailureSink, Sink, Text};
use crate::storage::Reads;
use core::fmt::Write;
use embedded_safetensors::{ReadAt, io::FileLen, validate::Summary};

/// The number of values in a line.
const IN_A_LINE: usize = 32;

/// The files that the program reads. The length of the text is exact.
#[derive(Debug)]
pub struct Files<'n, M, F> {
    /// The name of the model or of its storage.
    pub name: &'n str,
    /// The model.
    pub model: M,
    /// The vocabulary.
    pub vocabulary: F,
    /// The text.
    pub text: F,
}

/// Embeds the text, and reports the bits of its embedding. If the model contains its sum, all of it is
/// verified before. `ram` is the board's bytes of RAM.
///
/// # Errors
/// Errors of the storage, the model, the vocabulary and the text. There is no embedding then.
///
/// *Memory*: a text of [`MAX_TEXT`] bytes on the stack, besides `memory`.
pub fn embed<M: ReadAt, F: ReadAt<Error = M::Error>>(
    files: Files<'_, M, F>,
    ram: u32,
    memory: &mut Memory,
    Text(out): &mut Text<impl Write>,
) -> Result<(), Failure<M::Error>> {
    let tokens = read_text(files.vocabulary, files.text, out)?;
    let reads = Reads::new();
    let mut embedder = Embedder::open(files.model, &reads)?;
    let Summary { tensors, data_start, data_len, .. } = embedder.summary();
    let (name, bytes) = (files.name, data_start + data_len);
    Text(&mut *out).event(&Event::Model { name, bytes, tensors, ram });
    let sum = if embedder.verify(memory)? { "as the file says" } else { "the file has none" };
    print(out, format_args!("sum: {sum}"));
    let mut before = (reads.bytes(), reads.calls());
    let embedding = embedder.embed(&tokens, memory, &mut |layer| {
        let now = (reads.bytes(), reads.calls());
        let (bytes, calls) = (now.0 - before.0, now.1 - before.1);
        print(out, format_args!("layer {layer} of {LAYERS}: {bytes} bytes in {calls} reads"));
        before = now;
    })?;
    for (line, values) in embedding.chunks(IN_A_LINE).enumerate() {
        let _ = write!(out, "embedding {}:", line * IN_A_LINE);
        values.iter().for_each(|value| _ = write!(out, " {:08x}", value.to_bits()));
        let _ = writeln!(out);
    }
    Text(out).event(&Event::Storage { bytes: reads.bytes(), reads: reads.calls() });
    Ok(())
}

/// Prints a line. An error cannot be reported if the output itself fails.
fn print(out: &mut impl Write, line: core::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{line}");
}

#[inline(never)] // its stack is free again when it returns
fn read_text<F: ReadAt>(
    vocabulary: F,
    mut file: F,
    out: &mut impl Write,
) -> Result<Tokens, Failure<F::Error>> {
    let mut text = [0; MAX_TEXT];
    let failed = |at: usize, error| Failure::Unread("text", at as u64, error);
    let len = match file.file_len().map_err(|error| failed(0, error))? {
        FileLen::Exactly(len) | FileLen::AtMost(len) => len,
        FileLen::Unknown => u64::MAX,
    };
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let text = text.get_mut(..len).ok_or(Failure::Text(Unusable::Long(len)))?;
    let mut read = 0;
    while let Some(rest @ [_, ..]) = text.get_mut(read..) {
        read += match file.read_at(read as u64, rest).map_err(|error| failed(read, error))? {
            0 => return Err(Failure::Text(Unusable::Cut(read))),
            count => count,
        };
    }
    let tokens = Vocabulary::MINILM.tokenise(vocabulary, text)?;
    let shown = core::str::from_utf8(text).unwrap_or_default().trim_end();
    print(out, format_args!("text: {shown:?}, {} tokens", tokens.ids().len()));
    Ok(tokens)
}

impl<E> Failure<E> {
    /// Reports the sentence, and returns the exit code.
    pub fn report(&self, sink: &mut impl FailureSink<Self>) -> u8 {
        sink.failure(self);
        self.exit_code()
    }

    /// Converts the storage's error.
    pub fn map<F>(self, words: impl FnOnce(E) -> F) -> Failure<F> {
        match self {
            Self::Model(failure) => Failure::Model(failure.map(words)),
            Self::Unread(file, at, error) => Failure::Unread(file, at, words(error)),
            Self::OtherVocabulary(bytes) => Failure::OtherVocabulary(bytes),
            Self::Text(unusable) => Failure::Text(unusable),
            Self::NotFinite => Failure::NotFinite,
        }
    }
}
