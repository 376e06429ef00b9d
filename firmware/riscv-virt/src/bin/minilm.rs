//! Embeds a text with the sentence transformer in the flash, in nearly all of 64 KiB of RAM.
#![no_std]
#![no_main]

use app::Text;
use app::minilm::{Failure, Files, Memory, embed};
use core::cell::RefCell;
use core::fmt::Write;
use embedded_safetensors::io::{FileLen, NorError, NorFile};
use embedded_safetensors::{ReadAt, View};
use embedded_storage::nor_flash::ReadNorFlash;
use riscv_virt::cfi::{Cfi, CfiError};
use riscv_virt::partitions::{MINILM, TEXT, VOCABULARY};
use riscv_virt::shared::Shared;
use riscv_virt::{RAM_OF_MINILM, mapped};

type Error = NorError<CfiError>;

/// A word of the flash without a model, which is then in mapped memory.
const ERASED: [u8; Cfi::READ_SIZE] = [0xff; Cfi::READ_SIZE];

#[board::entry]
fn main() -> ! {
    riscv_virt::run_minilm(|sink, flash| {
        let outcome = embed_text(sink, flash);
        outcome.map_err(|failure| failure.map(|NorError(error)| error).report(sink))
    })
}

fn embed_text(sink: &mut Text<impl Write>, mut flash: Cfi) -> Result<(), Failure<Error>> {
    let [mut len, mut model] = [[0; Cfi::READ_SIZE]; 2];
    flash.read(TEXT.start, &mut len).map_err(|error| Failure::Unread("text", 0, NorError(error)))?;
    flash.read(MINILM.start, &mut model).map_err(|error| app::Failure::NoModel(NorError(error)))?;
    let flash = RefCell::new(flash);
    let file = |partition| NorFile::partition(Shared(&flash), partition);
    let text = file(TEXT.start + len.len() as u32..TEXT.end).with_file_len(u32::from_le_bytes(len).into());
    let vocabulary = file(VOCABULARY);
    let memory = &mut Memory::new();
    if model == ERASED {
        let (view, _) = View::parse_prefix(mapped()).map_err(app::Failure::of_memory)?;
        let files = Files { name: "mapped memory", model: Mapped(view.file()), vocabulary, text };
        return embed(files, RAM_OF_MINILM, memory, sink);
    }
    embed(Files { name: "NOR flash", model: file(MINILM), vocabulary, text }, RAM_OF_MINILM, memory, sink)
}

/// A file in memory, with the error of the flash, which never occurs.
struct Mapped(&'static [u8]);

impl ReadAt for Mapped {
    type Error = Error;

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        self.0.read_at(offset, buffer).map_err(|never| match never {})
    }

    fn file_len(&mut self) -> Result<FileLen, Error> {
        self.0.file_len().map_err(|never| match never {})
    }
}
