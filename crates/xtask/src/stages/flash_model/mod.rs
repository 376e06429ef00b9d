//! A model linked into firmware: its costs, the addresses of its weights, the network's answers, and the
//! builds that it rejects.

mod network;
mod rejections;

use super::pages;
use crate::elf::Elf;
use crate::measure::firmware::{Board, CORTEX_M3, Firmware, RISC_V, program};
use crate::report::{Outcome, Tally};
use crate::toolchain::{BARE_TARGETS, Toolchain};
use crate::{model, workspace};

/// The model; an example of the library includes it too.
const MODEL: &str = "crates/embedded-safetensors/examples/network.safetensors";

/// Programs with the model and the library, with the model and addresses written by hand, and with nothing.
const PROGRAMS: [&str; 3] = ["constant", "by_hand", "empty"];

const FLASH: [&str; 3] = [".text", ".rodata", ".data"];
const RAM: [&str; 2] = [".data", ".bss"];

/// How many more bytes of flash the program with the library may have than the one by hand, and how many
/// bytes of RAM.
const MOST_FLASH: usize = 0;
const MOST_RAM: usize = 0;

/// The boards that run the programs.
const BOARDS: [Board; 2] = [CORTEX_M3, RISC_V];

/// Parts of symbol names that show code of the library, panics or text formatting in the image.
const UNWANTED: [&str; 4] = ["embedded_safetensors", "panic", "4core3fmt", "unwind"];

/// Runs the stage for one target of each architecture, with all builds that must fail.
pub fn run() -> Outcome {
    let mut tally = Tally::default();
    let promise = format!(
        "its bytes and {MOST_FLASH} B more in flash than addresses counted by hand, {MOST_RAM} B of RAM, \
         and no symbol of this crate"
    );
    tally.check("the committed model matches the generator", check_file());
    tally.check("the page of costs states these limits", pages::check(pages::COSTS, [promise]));
    let toolchains = Toolchain::for_targets(&BOARDS.map(|board| board.triple))?;
    measure_targets(&toolchains, &mut tally);
    for (board, &toolchain) in BOARDS.iter().zip(&toolchains) {
        board.need_emulator()?;
        tally.measured(board.name, answers(board, toolchain));
    }
    rejections::check(&mut tally)?;
    Ok(tally)
}

/// Runs the stage for all other targets.
pub fn rest() -> Outcome {
    let mut tally = Tally::default();
    let is_left = |triple: &&str| BOARDS.iter().all(|board| board.triple != *triple);
    let triples: Vec<&str> = BARE_TARGETS.into_iter().filter(is_left).collect();
    measure_targets(&Toolchain::for_targets(&triples)?, &mut tally);
    Ok(tally)
}

fn measure_targets(toolchains: &[Toolchain], tally: &mut Tally) {
    let built = Firmware { toolchains, level: "s" }.each(|firmware| firmware.build_only(&PROGRAMS));
    for (&toolchain, built) in toolchains.iter().zip(built) {
        tally.measured(toolchain.triple, built.and_then(|()| measure_image(toolchain)));
    }
}

fn check_file() -> Result<(), String> {
    if workspace::read(&workspace::root().join(MODEL)).is_ok_and(|file| file == network::file()) {
        return Ok(());
    }
    let written = workspace::target_dir().join("flash-model/network.safetensors");
    workspace::write(&written, &network::file())?;
    Err(format!("{MODEL} differs from the generator's file {}", written.display()))
}

fn measure_image(toolchain: Toolchain) -> Result<String, String> {
    let [with_core, by_hand, empty] = PROGRAMS.map(|name| Elf::open(&program(toolchain, name)));
    let (with_core, empty) = (with_core?, empty?.size_of(&FLASH));
    with_core.lacks(&UNWANTED)?;
    image_address(&with_core)?;
    let [flash, by_hand] = [&with_core, &by_hand?].map(|elf| elf.size_of(&FLASH).saturating_sub(empty));
    let (ram, file) = (with_core.size_of(&RAM), network::file().len());
    let sentence = format!(
        "the model in flash: {flash} bytes, {file} of them the file; by hand: {by_hand}; \
         {ram} of RAM, no symbol of the library"
    );
    if flash > by_hand + MOST_FLASH || ram > MOST_RAM { Err(sentence) } else { Ok(sentence) }
}

/// Returns the address of the model's bytes, which must be in the image once.
fn image_address(elf: &Elf) -> Result<u64, String> {
    match elf.addresses_of(&network::file())[..] {
        [address] => Ok(address),
        ref others => Err(format!("the model is in the image {} times", others.len())),
    }
}

/// Checks that weights are read in place and that the answers are those of this computer; also with the
/// program by hand, to test the check itself.
fn answers(board: &Board, toolchain: Toolchain) -> Result<String, String> {
    let [with_core, by_hand, _] = PROGRAMS;
    let image = run_program(board, toolchain, with_core)?;
    run_program(board, toolchain, by_hand)?;
    Ok(format!("the weights are read in flash from {image:#x} on, and give the same answers as here"))
}

/// Runs the program for some inputs, and returns the address of the file in it.
fn run_program(board: &Board, toolchain: Toolchain, name: &str) -> Result<u64, String> {
    let (program, file) = (program(toolchain, name), network::file());
    let image = image_address(&Elf::open(&program)?)?;
    let is_flash = |address: u64| u32::try_from(address).is_ok_and(|address| board.flash.contains(&address));
    for seed in 0..3 {
        let input = network::input(seed);
        let figures = board.run(program.clone(), &request(&input))?;
        for name in network::TENSORS {
            let range = model::range(&file, name).ok_or("the model lacks a tensor")?;
            let (found, expected) = (figures.get(name)?, image + range.start as u64);
            if found != expected || !is_flash(found) || !is_flash(found + range.len() as u64 - 1) {
                return Err(format!("{name} is read at {found:#x}; in the image it is at {expected:#x}"));
            }
        }
        let answer = network::answer(&file, &input).ok_or("the model lacks a tensor")?;
        for (output, expected) in answer.into_iter().enumerate() {
            let found = figures.get(&output.to_string())?;
            if found != u64::from(expected) {
                return Err(format!("output {output} has the bits {found:#x}, expected {expected:#x}"));
            }
        }
    }
    Ok(image)
}

/// Returns the request for the firmware: four words, of which it reads the length, then the input, and a
/// length of 0 for the name.
fn request(input: &[u8]) -> Vec<u8> {
    let words: [u64; 2] = [0, input.len() as u64 + 1];
    words.iter().flat_map(|pair| pair.to_le_bytes()).chain(input.iter().copied()).chain([0]).collect()
}
