//! Measures one target at one level, above all the job: a model is opened, which validates it, and a tensor
//! is found and read.

use super::machine::{self, FLASH, Figures, UNWANTED};
use super::model::{self, Content, Model, Spelling};
use super::sheet::Sheet;
use super::{SMALL, Target, c, paths, reference};
use crate::elf::Elf;
use crate::toolchain::Toolchain;
use std::path::PathBuf;

/// Programs of `firmware/measure`.
const EMPTY: &str = "empty";
pub const STREAM: &str = "stream";
pub const TOGETHER: &str = "together";
const READS: &str = "reads";
const CONSTANT: &str = "constant";
const BY_HAND: &str = "by_hand";
pub const REFERENCE: &str = "reference";

/// The windows: the one that the limit of RAM is for, and a block of a card.
pub const WINDOWS: [usize; 2] = [64, 512];
/// The number of tensors in headers whose instructions are counted.
pub const TENSORS: usize = 100;
/// Numbers of tensors that must take the same RAM.
pub const FEW: usize = 10;
pub const MANY: usize = 100_000;
/// The largest number with a non-canonical header: a request, including its file, has at most 14 MiB.
const MOST_NON_CANONICAL: usize = 50_000;
/// The offsets of the heap, and of other memory for programs, from the start of the request; set by
/// `firmware/measure`.
const HEAP_AT: usize = 0xc0_0000;
const MEMORY_AT: usize = 0xe0_0000;
/// The number of bytes streamed to count instructions.
const STREAMED: usize = 1 << 20;

/// More than the measuring frame itself takes.
const NOTHING: f64 = 32.0;

const STATIC: [&str; 2] = [".data", ".bss"];
/// Parts of symbol names that occur only with a heap.
const HEAP: [&str; 5] = ["__rust_alloc", "__rustc12___rust_alloc", "5alloc", "malloc", "sbrk"];
/// Parts of symbol names: of the library's parser, and of the routines that compilers call.
const PARSER: [&str; 2] = ["embedded_safetensors6header", "embedded_safetensors5dtype"];
const ROUTINES: [&str; 3] = ["compiler_builtins", "__aeabi", "__mul"];

/// The programs for one target at one level.
#[derive(Clone, Copy)]
pub struct Bench {
    pub target: &'static Target,
    pub toolchain: Toolchain,
    pub level: &'static str,
}

/// Measures one target at one level, with its programs already built.
pub fn measure(bench: Bench, quick: bool) -> Result<Sheet, String> {
    eprintln!("measuring {} at opt-level {}", bench.target.name, bench.level);
    let mut sheet = Sheet::new(bench.target.name, bench.level, bench.toolchain.version()?);
    bench.frame(EMPTY)?;
    bench.images(&mut sheet, &[STREAM, TOGETHER, CONSTANT, BY_HAND])?;
    bench.headers(&mut sheet, STREAM, TOGETHER)?;
    bench.streaming(&mut sheet)?;
    for tensors in [FEW, TENSORS] {
        bench.memory(&mut sheet, STREAM, tensors)?;
    }
    bench.memory(&mut sheet, TOGETHER, TENSORS)?;
    paths::measure(bench, &mut sheet)?;
    if !quick {
        let is_small = bench.level == SMALL;
        if is_small {
            bench.memory(&mut sheet, STREAM, MANY)?;
            growth(&mut sheet)?;
        }
        bench.images(&mut sheet, &[REFERENCE])?;
        reference::measure(bench, &mut sheet, is_small)?;
        c::measure(bench, &mut sheet)?;
    }
    Ok(sheet)
}

/// Sets how much RAM the many tensors take above the few.
fn growth(sheet: &mut Sheet) -> Result<(), String> {
    let [few, many] = [FEW, MANY].map(|tensors| sheet.get(&format!("stream.ram.{tensors}")));
    let (few, many) = (few?, many?);
    sheet.set("stream.growth", (many - few).abs());
    if many <= reference::RAM as f64 {
        sheet.set("stream.most_tensors", MANY as f64);
    }
    Ok(())
}

/// The parameters of a run beside its model.
#[derive(Clone, Default)]
pub struct Params {
    /// The size of the window in bytes.
    pub window: usize,
    /// The size of the heap in bytes, or the number of slots, depending on the program.
    pub memory: usize,
    /// The steps whose instructions are counted; for each, the job runs once more.
    pub steps: Vec<&'static str>,
}

const STEPS: [&str; 3] = ["open", "find", "all"];

impl Params {
    pub fn window(window: usize) -> Self {
        Self { window, ..Self::default() }
    }

    pub fn heap(memory: usize) -> Self {
        Self { memory, ..Self::default() }
    }

    pub fn and_count(self) -> Self {
        Self { steps: STEPS.to_vec(), ..self }
    }

    /// Returns the words in the format that `firmware/measure` reads.
    fn words(&self, len: usize) -> [usize; 4] {
        let bit = |step: &&str| STEPS.iter().position(|known| known == step).map_or(0, |bit| 1 << bit);
        [self.window, self.memory, len, self.steps.iter().map(bit).sum()]
    }
}

impl Bench {
    /// Returns how many bytes of flash a program takes above one that does nothing.
    pub fn flash(self, program: &str) -> Result<f64, String> {
        let flash = |program: &str| Ok::<_, String>(self.elf(program)?.size_of(&FLASH));
        let empty =
            if program.starts_with(c::PREFIX) { format!("{}{EMPTY}", c::PREFIX) } else { EMPTY.to_owned() };
        Ok(flash(program)?.saturating_sub(flash(&empty)?) as f64)
    }

    /// Sets the figures of the linked programs.
    pub fn images(self, sheet: &mut Sheet, programs: &[&str]) -> Result<(), String> {
        for program in programs {
            let elf = self.elf(program)?;
            sheet.set(format!("{program}.flash"), self.flash(program)?);
            sheet.set(format!("{program}.static"), elf.size_of(&STATIC) as f64);
            sheet.set(format!("{program}.unwanted_symbols"), elf.symbols_with(&UNWANTED)?.count as f64);
            sheet.set(format!("{program}.heap_symbols"), elf.symbols_with(&HEAP)?.count as f64);
        }
        if programs.contains(&STREAM) {
            let stream = self.elf(STREAM)?;
            sheet.set("stream.flash.parser", stream.symbols_with(&PARSER)?.bytes as f64);
            sheet.set("stream.flash.routines", stream.symbols_with(&ROUTINES)?.bytes as f64);
            sheet.set("constant.parser", sheet.get("constant.flash")? - sheet.get("by_hand.flash")?);
        }
        Ok(())
    }

    pub fn program(self, name: &str) -> PathBuf {
        match name.strip_prefix(c::PREFIX) {
            Some(name) => c::program(self.toolchain, name),
            None => machine::program(self.toolchain, name),
        }
    }

    fn elf(self, program: &str) -> Result<Elf, String> {
        Elf::open(&self.program(program))
    }

    /// Checks that measuring itself takes next to nothing.
    pub fn frame(self, empty: &str) -> Result<(), String> {
        let figures = self.run(empty, &model::make(Content::of(1)), &Params::window(64).and_count())?;
        let (stack, instructions) = (figures.get("stack")? as f64, self.instructions(&figures, "all")?);
        match stack > NOTHING || instructions > NOTHING {
            true => Err(format!(
                "a job that does nothing takes {stack} B of stack and {instructions} instructions"
            )),
            false => Ok(()),
        }
    }

    /// Counts instructions for each byte of a header.
    pub fn headers(self, sheet: &mut Sheet, stream: &str, together: &str) -> Result<(), String> {
        for spelling in Spelling::ALL {
            let model = model::make(Content { spelling, ..Content::of(TENSORS) });
            for window in WINDOWS {
                let figures = self.run(stream, &model, &Params::window(window).and_count())?;
                figures.has_done(128)?;
                let [open, find, all] = self.steps(&figures)?.map(|count| count / model.header_len as f64);
                sheet.set(format!("{stream}.open.{}.{window}", spelling.name()), open);
                sheet.set(format!("{stream}.find.{}.{window}", spelling.name()), find - open);
                sheet.set(format!("{stream}.job.{}.{window}", spelling.name()), all);
                let figures = self.run(together, &model, &Params::window(window).and_count())?;
                figures.has_done(128)?;
                let [_, found, _] = self.steps(&figures)?.map(|count| count / model.header_len as f64);
                sheet.set(format!("{together}.find.{}.{window}", spelling.name()), found);
            }
        }
        Ok(())
    }

    /// Counts instructions for each KiB that is streamed, and for each that is read by hand.
    fn streaming(self, sheet: &mut Sheet) -> Result<(), String> {
        let model = model::make(Content { long: Some((FEW / 2, STREAMED)), ..Content::of(FEW) });
        for window in WINDOWS {
            let figures = self.run(READS, &model, &Params::window(window).and_count())?;
            figures.has_done(STREAMED)?;
            let [before, raw, streamed] = self.steps(&figures)?;
            let [raw, ours] = [raw, streamed].map(|count| (count - before) / (STREAMED as f64 / 1024.0));
            sheet.set(format!("stream.kib.{window}"), ours);
            sheet.set(format!("raw.kib.{window}"), raw);
            sheet.set(format!("stream.above_raw.{window}"), (ours / raw - 1.0) * 100.0);
        }
        Ok(())
    }

    /// Measures all RAM of the job, the most over all spellings of the header.
    pub fn memory(self, sheet: &mut Sheet, program: &str, tensors: usize) -> Result<(), String> {
        let [window, _] = WINDOWS;
        let mut most = 0f64;
        for spelling in Spelling::ALL {
            let fitting =
                if spelling == Spelling::NonCanonical { tensors.min(MOST_NON_CANONICAL) } else { tensors };
            let model =
                model::make(Content { spelling, long: Some((fitting / 2, 128)), ..Content::small(fitting) });
            let figures = self.run(program, &model, &Params::window(window))?;
            figures.has_done(128)?;
            let stack = figures.get("stack")? as f64;
            sheet.set(format!("{program}.stack.{}.{tensors}", spelling.name()), stack);
            most = most.max(stack);
        }
        let ram = sheet.get(&format!("{program}.static"))? + most + window as f64;
        sheet.set(format!("{program}.ram.{tensors}"), ram);
        Ok(())
    }

    /// Returns the instructions up to the end of each step.
    pub fn steps(self, figures: &Figures) -> Result<[f64; 3], String> {
        let [open, find, all] = STEPS.map(|step| self.instructions(figures, step));
        Ok([open?, find?, all?])
    }

    pub fn instructions(self, figures: &Figures, step: &str) -> Result<f64, String> {
        Ok(self.target.board.instructions(figures.get(step)?) as f64)
    }

    /// Runs a program with a request in the device's memory: four words, the file, and the name.
    pub fn run(self, program: &str, model: &Model, params: &Params) -> Result<Figures, String> {
        let name = model.name.bytes().chain(u8::try_from(model.name.len()));
        let bytes = model.file.iter().copied().chain(name).collect::<Vec<u8>>();
        // The numbers are small: the upper half of each is zero.
        let words = params
            .words(bytes.len())
            .into_iter()
            .flat_map(|word| (word as u64).to_le_bytes().into_iter().take(4));
        let request: Vec<u8> = words.chain(bytes).collect();
        if request.len() > if program == REFERENCE { HEAP_AT } else { MEMORY_AT } {
            return Err(format!("a model of {} B does not fit into the device's memory", request.len()));
        }
        self.target.board.run(self.program(program), &request)
    }
}
