//! Embeds sentences on a desktop: reads one in each line of the standard input, and prints its embedding, as
//! the bits of 384 floats. The error output says how many bytes were read, and how many sectors of a card.
//!
//! ```console
//! $ cargo run --release --example minilm --features minilm -- model.safetensors vocab.txt < sentences.txt
//! ```

use app::Reads;
use app::minilm::{Embedder, Failure, LAYERS, Memory, Vocabulary};
use embedded_safetensors::{ReadAt, io::FileLen};
use std::array;
use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, Error, StdinLock};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [model, vocabulary] = &words[..] else {
        eprintln!("usage: minilm MODEL VOCABULARY < SENTENCES");
        return ExitCode::from(64);
    };
    match run(model, vocabulary, std::io::stdin().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code().into()
        }
    }
}

fn run(model: &str, vocabulary: &str, sentences: StdinLock<'_>) -> Result<(), Failure<Error>> {
    let open = |path| File::open(path).map_err(app::Failure::NoModel);
    let (reads, sectors, mut memory) = (Reads::new(), Cell::new(0), Box::new(Memory::new()));
    let card = Card { file: open(model)?, last: u64::MAX, sectors: &sectors };
    let mut embedder = Embedder::open(card, &reads)?;
    let read = || [reads.bytes(), reads.calls().into(), sectors.get()];
    let report = |what: &str, before: [u64; 3]| {
        let [bytes, calls, sectors] = array::from_fn(|index| read()[index] - before[index]);
        eprintln!("{what}: {bytes} bytes in {calls} reads, {sectors} sectors");
    };
    embedder.verify(&mut memory)?;
    report("opened and verified", [0; 3]);
    let vocabulary = open(vocabulary)?;
    for sentence in sentences.split(b'\n') {
        let sentence = sentence.map_err(app::Failure::NoModel)?;
        let tokens = Vocabulary::MINILM.tokenise(&vocabulary, &sentence)?;
        eprintln!("tokens: {:?}", tokens.ids());
        let (start, mut before) = (read(), read());
        let embedding = embedder.embed(&tokens, &mut memory, &mut |layer| {
            report(&format!("layer {layer} of {LAYERS}"), before);
            before = read();
        })?;
        report("all layers", start);
        println!("{}", embedding.map(|value| format!("{:08x}", value.to_bits())).join(" "));
    }
    Ok(())
}

/// A file on a card, whose driver keeps the last sector of 512 bytes.
struct Card<'s> {
    file: File,
    last: u64,
    sectors: &'s Cell<u64>,
}

impl ReadAt for Card<'_> {
    type Error = Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let len = ReadAt::read_at(&mut self.file, offset, buffer)?;
        if len > 0 {
            let (first, last) = (offset / 512, (offset + len as u64 - 1) / 512);
            let is_kept = u64::from(first == self.last);
            self.sectors.set(self.sectors.get() + last + 1 - first - is_kept);
            self.last = last;
        }
        Ok(len)
    }

    fn file_len(&mut self) -> Result<FileLen, Error> {
        self.file.file_len()
    }
}
