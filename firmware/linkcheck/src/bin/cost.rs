//! Runs one door of the core and prints what it took, for the front door to read:
//! `name=value` on lines of their own.
#![no_std]
#![no_main]

use embedded_safetensors::{
    DuplicateCheck, Entries, FilePlan, HeaderCheck, HeaderEncoder, HeaderParser, Recorder, Slot, Wanted,
    Writer,
};
use linkcheck::{Card, Clock, Job, Order, Then, WANTED, print, print_number};

struct Task {
    job: Job,
    file: &'static [u8],
    slots: &'static mut [Slot],
    text: &'static mut [u8],
    card: Card,
    wanted: &'static mut [Wanted<'static>; WANTED],
    order: &'static mut Order,
    flash: &'static mut [u8],
    /// What the door counted; nothing when it found an error.
    counted: Option<u64>,
}

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let (job, file) = linkcheck::request();
    let (slots, text) = (linkcheck::slots(job.slots), linkcheck::text());
    let (card, wanted, order) = (Card::new(file), linkcheck::wanted(), linkcheck::order());
    let flash = linkcheck::flash();
    let mut task = Task { job, file, slots, text, card, wanted, order, flash, counted: None };
    let door = door(task.job.mode);
    let clock = Clock::start();
    let empty = clock.ticks();
    let stack = linkcheck::peak(door, &mut task);
    task.card = Card::new(file);
    let clock = Clock::start();
    door(&mut task);
    let ticks = clock.ticks().wrapping_sub(empty);
    report(&task, stack, ticks);
    linkcheck::exit(task.counted.is_none().into())
}

fn door(mode: u32) -> fn(&mut Task) {
    match mode {
        0 => nothing,
        1 => validate,
        2 => find_duplicates,
        3 => parse,
        4 => read_entries,
        5 => open_and_find,
        6 => read_raw,
        7 => stream,
        9 => read_rows,
        10 => read_slice,
        11 => view,
        12 => write,
        13 => record,
        _ => refuse,
    }
}

#[inline(never)]
fn nothing(task: &mut Task) {
    task.counted = Some(0);
}

#[inline(never)]
fn validate(task: &mut Task) {
    task.counted = linkcheck::validate(task.file, task.job.file_len, task.slots).ok();
}

#[inline(never)]
fn find_duplicates(task: &mut Task) {
    task.counted = linkcheck::find_duplicates(task.file, task.slots, task.text).ok().map(u64::from);
}

#[inline(never)]
fn parse(task: &mut Task) {
    task.counted = linkcheck::parse(task.file).ok();
}

#[inline(never)]
fn read_entries(task: &mut Task) {
    task.counted = linkcheck::read_entries(task.file, task.text).ok();
}

#[inline(never)]
fn view(task: &mut Task) {
    task.counted = linkcheck::view(task.file).ok();
}

#[inline(never)]
fn record(task: &mut Task) {
    task.counted = linkcheck::record_file(linkcheck::description(), task.file, task.flash, task.order);
}

#[inline(never)]
fn write(task: &mut Task) {
    task.counted = linkcheck::write_file(linkcheck::description(), task.file, task.order);
}

#[inline(never)]
fn open_and_find(task: &mut Task) {
    task.counted = linkcheck::open_find_stream(&mut task.card, task.wanted, Then::Stop);
}

#[inline(never)]
fn read_raw(task: &mut Task) {
    task.counted = linkcheck::open_find_stream(&mut task.card, task.wanted, Then::ReadRaw);
}

#[inline(never)]
fn stream(task: &mut Task) {
    task.counted = linkcheck::open_find_stream(&mut task.card, task.wanted, Then::Stream);
}

#[inline(never)]
fn read_rows(task: &mut Task) {
    task.counted = linkcheck::open_find_stream(&mut task.card, task.wanted, Then::ReadRows);
}

#[inline(never)]
fn read_slice(task: &mut Task) {
    task.counted = linkcheck::open_find_stream(&mut task.card, task.wanted, Then::ReadSlice);
}

/// As `stream`, of a file that must not come through.
#[inline(never)]
fn refuse(task: &mut Task) {
    let streamed = linkcheck::open_find_stream(&mut task.card, task.wanted, Then::Stream);
    task.counted = streamed.is_none().then_some(0);
}

fn report(task: &Task, stack: u32, ticks: u32) {
    figure("counted", task.counted.map_or(u32::MAX, |count| count as u32));
    figure("stack", stack);
    figure("ticks", ticks);
    figure("parser", size_of::<HeaderParser>() as u32);
    figure("check", size_of::<HeaderCheck<'_>>() as u32);
    figure("duplicates", size_of::<DuplicateCheck<'_>>() as u32);
    figure("entries", size_of::<Entries<'_>>() as u32);
    figure("slot", size_of::<Slot>() as u32);
    figure("wanted", size_of::<Wanted<'_>>() as u32);
    figure("encoder", size_of::<HeaderEncoder<'_>>() as u32);
    figure("writer", size_of::<Writer<'_, ()>>() as u32);
    figure("recorder", size_of::<Recorder<'_, ()>>() as u32);
    figure("plan", size_of::<FilePlan<'_>>() as u32);
    figure("calls", task.card.calls);
    figure("bytes", task.card.bytes);
}

fn figure(name: &str, value: u32) {
    print(name);
    print("=");
    print_number(value);
    print("\n");
}
