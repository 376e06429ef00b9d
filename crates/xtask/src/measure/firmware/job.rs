//! What is measured of one target at one level, first of all one job: a model is opened, which proves it, a tensor is found and read.

use super::machine::{self, FLASH, Figures, UNWANTED};
use super::model::{self, Content, Model, Spelling};
use super::sheet::Sheet;
use super::{SMALL, Target, paths, reference};
use crate::elf::Elf;
use crate::toolchain::Toolchain;
use std::path::PathBuf;

/// Of the programs of `firmware/measure`.
const EMPTY: &str = "empty";
const STREAM: &str = "stream";
const TOGETHER: &str = "together";
const READS: &str = "reads";
const CONSTANT: &str = "constant";
const BY_HAND: &str = "by_hand";
pub const REFERENCE: &str = "reference";

/// The window that the limit of RAM is of, and a block of a card.
const WINDOWS: [usize; 2] = [64, 512];
/// Of the headers that instructions are counted with.
pub const TENSORS: usize = 100;
/// Of the headers that must take the same RAM.
pub const FEW: usize = 10;
pub const MANY: usize = 100_000;
/// Of those in the longest spelling: a request, with its file, has 14 MiB at most.
const MOST_FOREIGN: usize = 50_000;
/// Where the machines have memory for a heap and for all else that programs are lent, above the start of the request:
/// `firmware/measure` says so.
const HEAP_AT: usize = 0xc0_0000;
const LENT_AT: usize = 0xe0_0000;
/// What is streamed to count its instructions.
const STREAMED: usize = 1 << 20;

/// More than the frame itself takes.
const NOTHING: f64 = 32.0;

const STATIC: [&str; 2] = [".data", ".bss"];
/// Parts of symbol names that only come with a heap.
const HEAP: [&str; 3] = ["__rust_alloc", "__rustc12___rust_alloc", "5alloc"];
/// Of the core's, those of the parser; and of the routines that compilers call.
const PARSER: [&str; 2] = ["embedded_safetensors6header", "embedded_safetensors5dtype"];
const ROUTINES: [&str; 3] = ["compiler_builtins", "__aeabi", "__mul"];

/// The programs for one target at one level.
#[derive(Clone, Copy)]
pub struct Bench {
    pub target: &'static Target,
    pub toolchain: Toolchain,
    pub level: &'static str,
}

/// Measures one target at one level, whose programs have been built.
pub fn measure(bench: Bench, quick: bool) -> Result<Sheet, String> {
    eprintln!("measuring {} at opt-level {}", bench.target.name, bench.level);
    let mut sheet = Sheet::new(bench.target.name, bench.level, bench.toolchain.version()?);
    bench.frame()?;
    bench.images(&mut sheet, &[STREAM, TOGETHER, CONSTANT, BY_HAND])?;
    bench.headers(&mut sheet)?;
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
    }
    Ok(sheet)
}

/// What the tensors that are more make for RAM.
fn growth(sheet: &mut Sheet) -> Result<(), String> {
    let [few, many] = [FEW, MANY].map(|tensors| sheet.get(&format!("stream.ram.{tensors}")));
    let (few, many) = (few?, many?);
    sheet.set("stream.growth", (many - few).abs());
    if many <= reference::RAM as f64 {
        sheet.set("stream.most_tensors", MANY as f64);
    }
    Ok(())
}

/// What a run is given beside its model.
#[derive(Clone, Default)]
pub struct Lent {
    /// The bytes of the window.
    pub window: usize,
    /// Those of the heap, or how many slots, as the program takes it.
    pub lent: usize,
    /// The steps whose instructions are counted, for each of which the job is done once more.
    pub steps: Vec<&'static str>,
}

const STEPS: [&str; 3] = ["open", "find", "all"];

impl Lent {
    pub fn window(window: usize) -> Self {
        Self { window, ..Self::default() }
    }

    pub fn heap(lent: usize) -> Self {
        Self { lent, ..Self::default() }
    }

    pub fn and_count(self) -> Self {
        Self { steps: STEPS.to_vec(), ..self }
    }

    /// As `firmware/measure` takes it.
    fn words(&self, len: usize) -> [usize; 4] {
        let bit = |step: &&str| STEPS.iter().position(|known| known == step).map_or(0, |bit| 1 << bit);
        [self.window, self.lent, len, self.steps.iter().map(bit).sum()]
    }
}

impl Bench {
    /// What a program has more in flash than one that does nothing.
    pub fn flash(self, program: &str) -> Result<f64, String> {
        let flash = |program| Ok::<_, String>(self.elf(program)?.size_of(&FLASH));
        Ok(flash(program)?.saturating_sub(flash(EMPTY)?) as f64)
    }

    /// What the linker made of the programs.
    fn images(self, sheet: &mut Sheet, programs: &[&str]) -> Result<(), String> {
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
        machine::program(self.toolchain, name)
    }

    fn elf(self, program: &str) -> Result<Elf, String> {
        Elf::open(&self.program(program))
    }

    /// What measures takes next to nothing.
    fn frame(self) -> Result<(), String> {
        let figures = self.run(EMPTY, &model::make(Content::of(1)), &Lent::window(64).and_count())?;
        let (stack, instructions) = (figures.get("stack")? as f64, self.instructions(&figures, "all")?);
        match stack > NOTHING || instructions > NOTHING {
            true => Err(format!(
                "a job that does nothing takes {stack} B of stack and {instructions} instructions"
            )),
            false => Ok(()),
        }
    }

    /// Instructions for each byte of a header.
    fn headers(self, sheet: &mut Sheet) -> Result<(), String> {
        for spelling in Spelling::ALL {
            let model = model::make(Content { spelling, ..Content::of(TENSORS) });
            for window in WINDOWS {
                let figures = self.run(STREAM, &model, &Lent::window(window).and_count())?;
                figures.has_done(128)?;
                let [open, find, all] = self.steps(&figures)?.map(|count| count / model.header_len as f64);
                sheet.set(format!("stream.open.{}.{window}", spelling.name()), open);
                sheet.set(format!("stream.find.{}.{window}", spelling.name()), find - open);
                sheet.set(format!("stream.job.{}.{window}", spelling.name()), all);
                let figures = self.run(TOGETHER, &model, &Lent::window(window).and_count())?;
                figures.has_done(128)?;
                let [_, found, _] = self.steps(&figures)?.map(|count| count / model.header_len as f64);
                sheet.set(format!("together.find.{}.{window}", spelling.name()), found);
            }
        }
        Ok(())
    }

    /// Instructions for each KiB that is streamed, and that is read by hand.
    fn streaming(self, sheet: &mut Sheet) -> Result<(), String> {
        let model = model::make(Content { long: Some((FEW / 2, STREAMED)), ..Content::of(FEW) });
        for window in WINDOWS {
            let figures = self.run(READS, &model, &Lent::window(window).and_count())?;
            figures.has_done(STREAMED)?;
            let [before, raw, streamed] = self.steps(&figures)?;
            let [raw, ours] = [raw, streamed].map(|count| (count - before) / (STREAMED as f64 / 1024.0));
            sheet.set(format!("stream.kib.{window}"), ours);
            sheet.set(format!("raw.kib.{window}"), raw);
            sheet.set(format!("stream.above_raw.{window}"), (ours / raw - 1.0) * 100.0);
        }
        Ok(())
    }

    /// All RAM of the job, whichever way the header is spelled.
    fn memory(self, sheet: &mut Sheet, program: &str, tensors: usize) -> Result<(), String> {
        let [window, _] = WINDOWS;
        let mut most = 0f64;
        for spelling in Spelling::ALL {
            let fitting = if spelling == Spelling::Foreign { tensors.min(MOST_FOREIGN) } else { tensors };
            let model =
                model::make(Content { spelling, long: Some((fitting / 2, 128)), ..Content::small(fitting) });
            let figures = self.run(program, &model, &Lent::window(window))?;
            figures.has_done(128)?;
            let stack = figures.get("stack")? as f64;
            sheet.set(format!("{program}.stack.{}.{tensors}", spelling.name()), stack);
            most = most.max(stack);
        }
        let ram = sheet.get(&format!("{program}.static"))? + most + window as f64;
        sheet.set(format!("{program}.ram.{tensors}"), ram);
        Ok(())
    }

    /// Instructions up to the end of each step.
    pub fn steps(self, figures: &Figures) -> Result<[f64; 3], String> {
        let [open, find, all] = STEPS.map(|step| self.instructions(figures, step));
        Ok([open?, find?, all?])
    }

    pub fn instructions(self, figures: &Figures, step: &str) -> Result<f64, String> {
        Ok(self.target.board.instructions(figures.get(step)?) as f64)
    }

    /// Runs a program with four words that it reads, the file and the name in the machine's memory.
    pub fn run(self, program: &str, model: &Model, lent: &Lent) -> Result<Figures, String> {
        let name = model.name.bytes().chain(u8::try_from(model.name.len()));
        let bytes = model.file.iter().copied().chain(name).collect::<Vec<u8>>();
        // Our own small numbers: the upper half of each is zero.
        let words = lent
            .words(bytes.len())
            .into_iter()
            .flat_map(|word| (word as u64).to_le_bytes().into_iter().take(4));
        let request: Vec<u8> = words.chain(bytes).collect();
        if request.len() > if program == REFERENCE { HEAP_AT } else { LENT_AT } {
            return Err(format!("a model of {} B does not fit into the machine", request.len()));
        }
        self.target.board.run(self.program(program), &request)
    }
}
