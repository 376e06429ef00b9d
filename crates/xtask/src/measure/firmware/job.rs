//! What is measured of one target at one level.

use super::model::{self, Content, Model, Spelling};
use super::sheet::Sheet;
use super::{SMALL, Target, reference};
use crate::elf::Elf;
use crate::stages::firmware::{FLASH, Figures, Firmware};
use crate::stages::linking::UNWANTED;

/// Of the programs of `firmware/size`.
pub const EMPTY: &str = "empty";
const STREAM: &str = "stream";
const READS: &str = "reads";
const VIEW: &str = "view";
const BY_HAND: &str = "by_hand";
pub const REFERENCE: &str = "reference";

/// The window that the budget of RAM has, and a block of a card.
const WINDOWS: [usize; 2] = [64, 512];
/// Of the headers that instructions are counted with.
pub const TENSORS: usize = 100;
/// Of the headers that must take the same RAM.
pub const FEW: usize = 10;
pub const MANY: usize = 100_000;
/// Of those in the longest spelling: the machines have 16 MiB for the file.
const MOST_FOREIGN: usize = 50_000;
/// Where the machines have the memory for a heap and for a window, above the start of the request: `firmware/size` says so.
const HEAP_AT: usize = 0xc0_0000;
const WINDOW_AT: usize = 0xff_0000;
/// What is streamed to count its instructions.
const STREAMED: usize = 1 << 20;

/// More than the frame itself takes.
const NOTHING: f64 = 32.0;

const STATIC: [&str; 2] = [".data", ".bss"];
/// Parts of symbol names that only come with a heap.
const HEAP: [&str; 3] = ["__rust_alloc", "__rustc12___rust_alloc", "5alloc"];
const CORE: [&str; 1] = ["embedded_safetensors"];
/// Of the core's, those of the parser; and of the routines that compilers call.
const PARSER: [&str; 2] = ["embedded_safetensors6header", "embedded_safetensors5dtype"];
const ROUTINES: [&str; 3] = ["compiler_builtins", "__aeabi", "__mul"];

/// The programs for one target at one level.
#[derive(Clone, Copy)]
pub struct Bench {
    pub target: &'static Target,
    firmware: Firmware,
}

pub fn measure(target: &'static Target, firmware: Firmware) -> Result<Sheet, String> {
    eprintln!("measuring {} at opt-level {}", target.name, firmware.level);
    firmware.build_all(REFERENCE)?;
    let bench = Bench { target, firmware };
    let mut sheet = Sheet::new(target.name, target.board.triple, firmware.level);
    bench.images(&mut sheet)?;
    bench.frame()?;
    bench.headers(&mut sheet)?;
    bench.streaming(&mut sheet)?;
    bench.memory(&mut sheet, FEW)?;
    bench.memory(&mut sheet, TENSORS)?;
    reference::measure(bench, &mut sheet)?;
    if firmware.level == SMALL {
        bench.memory(&mut sheet, MANY)?;
        growth(&mut sheet)?;
        reference::refuses_many(bench)?;
        reference::most_tensors(bench, &mut sheet)?;
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
#[derive(Clone, Copy)]
pub struct Lent {
    window: usize,
    /// For programs that have one.
    heap: usize,
    /// Whether instructions are counted, too, for which the job is done three times more.
    count: bool,
}

impl Lent {
    pub const fn window(window: usize) -> Self {
        Self { window, heap: 0, count: false }
    }

    pub const fn heap(heap: usize) -> Self {
        Self { window: 0, heap, count: false }
    }

    pub const fn and_count(self) -> Self {
        Self { count: true, ..self }
    }
}

impl Bench {
    /// What the linker made of the programs.
    fn images(self, sheet: &mut Sheet) -> Result<(), String> {
        let empty = self.elf(EMPTY)?.size_of(&FLASH);
        for program in [STREAM, VIEW, BY_HAND, REFERENCE] {
            let elf = self.elf(program)?;
            sheet.set(format!("{program}.flash"), elf.size_of(&FLASH).saturating_sub(empty) as f64);
            sheet.set(format!("{program}.static"), elf.size_of(&STATIC) as f64);
            let unwanted = elf.symbols_with(&UNWANTED)?;
            sheet.set(format!("{program}.unwanted_symbols"), unwanted.count as f64);
            sheet.set(format!("{program}.unwanted_bytes"), unwanted.bytes as f64);
            sheet.set(format!("{program}.heap_symbols"), elf.symbols_with(&HEAP)?.count as f64);
            sheet.set(format!("{program}.core_symbols"), elf.symbols_with(&CORE)?.count as f64);
        }
        let stream = self.elf(STREAM)?;
        sheet.set("stream.flash.parser", stream.symbols_with(&PARSER)?.bytes as f64);
        sheet.set("stream.flash.routines", stream.symbols_with(&ROUTINES)?.bytes as f64);
        let parser = sheet.get("view.flash")? - sheet.get("by_hand.flash")?;
        sheet.set("view.parser", parser);
        Ok(())
    }

    fn elf(self, program: &str) -> Result<Elf, String> {
        Elf::open(&self.firmware.program(program))
    }

    /// What measures takes next to nothing.
    fn frame(self) -> Result<(), String> {
        let figures = self.run(EMPTY, &model::make(Content::of(1)), Lent::window(64).and_count())?;
        let (stack, instructions) = (figures.get("stack")? as f64, self.instructions(&figures, "read")?);
        if stack > NOTHING || instructions > NOTHING {
            return Err(format!(
                "a job that does nothing takes {stack} B of stack and {instructions} instructions"
            ));
        }
        Ok(())
    }

    /// Instructions for each byte of a header.
    fn headers(self, sheet: &mut Sheet) -> Result<(), String> {
        for spelling in Spelling::ALL {
            let model = model::make(Content { spelling, ..Content::of(TENSORS) });
            for window in WINDOWS {
                let figures = self.run(STREAM, &model, Lent::window(window).and_count())?;
                found(&figures, 128)?;
                let [open, find, read] = self.steps(&figures)?.map(|count| count / model.header_len as f64);
                sheet.set(format!("stream.open.{}.{window}", spelling.name()), open);
                sheet.set(format!("stream.find.{}.{window}", spelling.name()), find - open);
                sheet.set(format!("stream.job.{}.{window}", spelling.name()), read);
            }
        }
        Ok(())
    }

    /// Instructions for each KiB that is streamed, and that is read by hand.
    fn streaming(self, sheet: &mut Sheet) -> Result<(), String> {
        let model = model::make(Content { middle_len: STREAMED, ..Content::of(FEW) });
        for window in WINDOWS {
            let figures = self.run(READS, &model, Lent::window(window).and_count())?;
            found(&figures, STREAMED)?;
            let [before, raw, streamed] = self.steps(&figures)?;
            let [raw, ours] = [raw, streamed].map(|count| (count - before) / (STREAMED as f64 / 1024.0));
            sheet.set(format!("stream.kib.{window}"), ours);
            sheet.set(format!("raw.kib.{window}"), raw);
            sheet.set(format!("stream.above_raw.{window}"), (ours / raw - 1.0) * 100.0);
        }
        Ok(())
    }

    /// All RAM of the job, whichever way the header is spelled.
    fn memory(self, sheet: &mut Sheet, tensors: usize) -> Result<(), String> {
        let [window, _] = WINDOWS;
        let mut most = 0f64;
        for spelling in Spelling::ALL {
            let fitting = if spelling == Spelling::Foreign { tensors.min(MOST_FOREIGN) } else { tensors };
            let model = model::make(Content { spelling, len: 16, middle_len: 128, tensors: fitting });
            let figures = self.run(STREAM, &model, Lent::window(window))?;
            found(&figures, 128)?;
            let stack = figures.get("stack")? as f64;
            sheet.set(format!("stream.stack.{}.{tensors}", spelling.name()), stack);
            most = most.max(stack);
        }
        let ram = sheet.get("stream.static")? + most + window as f64;
        sheet.set(format!("stream.ram.{tensors}"), ram);
        Ok(())
    }

    /// Instructions up to the end of each step.
    pub fn steps(self, figures: &Figures) -> Result<[f64; 3], String> {
        let [open, find, read] = ["open", "find", "read"].map(|step| self.instructions(figures, step));
        Ok([open?, find?, read?])
    }

    fn instructions(self, figures: &Figures, step: &str) -> Result<f64, String> {
        Ok(self.target.board.instructions(figures.get(step)?) as f64)
    }

    /// Runs a program with four words that it reads, the file and the name in the machine's memory.
    pub fn run(self, program: &str, model: &Model, lent: Lent) -> Result<Figures, String> {
        let bytes = model.file.iter().copied().chain(model.name.bytes());
        let bytes = bytes.chain(u8::try_from(model.name.len())).collect::<Vec<u8>>();
        let words = [lent.window, lent.heap, bytes.len(), lent.count.into()];
        // Our own small numbers: the upper half of each is zero.
        let words = words.into_iter().flat_map(|word| (word as u64).to_le_bytes().into_iter().take(4));
        let request: Vec<u8> = words.chain(bytes).collect();
        if request.len() > if lent.heap > 0 { HEAP_AT } else { WINDOW_AT } {
            return Err(format!("a model of {} B does not fit into the machine", request.len()));
        }
        self.target.board.run(self.firmware.program(program), &request)
    }
}

/// The job has read these bytes.
pub fn found(figures: &Figures, due: usize) -> Result<(), String> {
    match figures.get("found")? {
        found if found == due as u64 => Ok(()),
        found => Err(format!("the job read {found} bytes, not {due}")),
    }
}
