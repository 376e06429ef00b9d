//! The linked program: what is in it, and what it says when it runs.

use super::network::{self, INPUTS, OUTPUTS, TENSORS};
use crate::elf::Elf;
use crate::measure::firmware::{Board, CORTEX_M3, Figures, Firmware, RISC_V};
use crate::model;
use crate::report::Tally;
use crate::toolchain::{BARE_TARGETS, Toolchain};

/// With the model and the core, with the model and addresses written by hand, and with nothing.
const PROGRAMS: [&str; 3] = ["constant", "by_hand", "empty"];

const FLASH: [&str; 3] = [".text", ".rodata", ".data"];
const RAM: [&str; 2] = [".data", ".bss"];

/// What the program with the core may have more than the one by hand, and what it may have of RAM.
const MOST_FLASH: usize = 0;
const MOST_RAM: usize = 0;

/// Parts of symbol names that say that something of the core, a panic or the formatting of text is in the image.
const UNWANTED: [&str; 4] = ["embedded_safetensors", "panic", "4core3fmt", "unwind"];

/// What the readme says of it.
pub fn promise() -> String {
    format!(
        "its bytes and {MOST_FLASH} B more in flash than addresses counted by hand, {MOST_RAM} B of RAM, and no symbol of this crate"
    )
}

pub fn measure(tally: &mut Tally) -> Result<(), String> {
    for triple in BARE_TARGETS {
        let firmware = Firmware { toolchain: Toolchain::for_target(triple)?, level: "s" };
        let built = PROGRAMS.iter().try_for_each(|program| firmware.build_only(program));
        let sentence = built.and_then(|()| measure_image(firmware));
        tally.measured(triple, sentence);
        for board in [CORTEX_M3, RISC_V].iter().filter(|board| board.triple == triple) {
            board.need_emulator()?;
            tally.measured(board.name, run(board, firmware));
        }
    }
    Ok(())
}

fn measure_image(firmware: Firmware) -> Result<String, String> {
    let [with_core, by_hand, empty] = PROGRAMS.map(|program| Elf::open(&firmware.program(program)));
    let (with_core, by_hand, empty) = (with_core?, by_hand?, empty?);
    with_core.lacks(&UNWANTED)?;
    image_address(&with_core)?;
    let flash = [&with_core, &by_hand].map(|elf| elf.size_of(&FLASH).saturating_sub(empty.size_of(&FLASH)));
    let [flash, flash_by_hand] = flash;
    let ram = with_core.size_of(&RAM);
    let file = network::file().len();
    let sentence = format!(
        "the model in flash: {flash} bytes, {file} of them the file; by hand: {flash_by_hand}; {ram} of RAM, no symbol of the core"
    );
    if flash > flash_by_hand + MOST_FLASH || ram > MOST_RAM { Err(sentence) } else { Ok(sentence) }
}

/// Where the model's bytes lie, in the one place where they do.
fn image_address(elf: &Elf) -> Result<u32, String> {
    match elf.addresses_of(&network::file())[..] {
        [address] => u32::try_from(address).map_err(|_| format!("the model lies at {address:#x}")),
        ref others => Err(format!("the model is in the image {} times", others.len())),
    }
}

/// The weights are read where the file lies, and the answers are those of this machine; by hand too, or that would be no
/// measure.
fn run(board: &Board, firmware: Firmware) -> Result<String, String> {
    let [with_core, by_hand, _] = PROGRAMS;
    let image = run_program(board, firmware, with_core)?;
    run_program(board, firmware, by_hand)?;
    Ok(format!("the weights are read at {image:#x} and behind, in flash, and give the same answers as here"))
}

/// Gives the address of the file in it.
fn run_program(board: &Board, firmware: Firmware, name: &str) -> Result<u32, String> {
    let program = firmware.program(name);
    let image = image_address(&Elf::open(&program)?)?;
    let file = network::file();
    for seed in 0..3 {
        let input = input(seed);
        let figures = board.run(program.clone(), &request(&input))?;
        check_addresses(board, &figures, image, &file)?;
        check_answer(&figures, &file, &input)?;
    }
    Ok(image)
}

fn check_addresses(board: &Board, figures: &Figures, image: u32, file: &[u8]) -> Result<(), String> {
    for name in TENSORS {
        let range = model::range(file, name).ok_or("the model lacks a tensor")?;
        let due = u64::from(image) + range.start as u64;
        let found = figures.get(name)?;
        let in_flash =
            |address: u64| u32::try_from(address).is_ok_and(|address| board.flash.contains(&address));
        if found != due || !in_flash(found) || !in_flash(found + range.len() as u64 - 1) {
            return Err(format!("{name} is read at {found:#x}; in the image it is at {due:#x}"));
        }
    }
    Ok(())
}

fn check_answer(figures: &Figures, file: &[u8], input: &[u8]) -> Result<(), String> {
    let due = network::answer(file, input).filter(|due| due.len() == OUTPUTS);
    let due = due.ok_or("the model lacks a tensor")?;
    for (output, due) in due.into_iter().enumerate() {
        let found = figures.get(&output.to_string())?;
        if found != u64::from(due) {
            return Err(format!("output {output} has the bits {found:#x}; here it has {due:#x}"));
        }
    }
    Ok(())
}

/// Inputs of both signs, others for every seed.
fn input(seed: u8) -> Vec<u8> {
    (0..INPUTS)
        .zip(1u8..)
        .map(|(_, place)| place.wrapping_mul(37).wrapping_add(seed.wrapping_mul(101)))
        .collect()
}

/// What the firmware finds in the machine's memory: four words, of which it reads the length, then the input and the length of a
/// name, for there is none.
fn request(input: &[u8]) -> Vec<u8> {
    let words: [u64; 2] = [0, input.len() as u64 + 1];
    words.iter().flat_map(|pair| pair.to_le_bytes()).chain(input.iter().copied()).chain([0]).collect()
}
