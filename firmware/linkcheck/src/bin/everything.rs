//! All of the core that firmware can call, on values that no compiler can know, to prove that none of it
//! can panic. Only sentences are left out: their formatting is the standard library's, which can.
#![no_std]
#![no_main]

use embedded_safetensors::{
    Blame, Dtype, DuplicateCheck, Entries, Error, ErrorKind, Event, HeaderCheck, HeaderParser, Item,
    Progress, Shape, Slot, Summary, TensorInfo, check, check_header,
};

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let (job, file) = linkcheck::request();
    let (slots, text) = (linkcheck::slots(job.slots), linkcheck::text());
    let seen = [
        number(linkcheck::validate(file, job.file_len, slots)),
        number(linkcheck::find_duplicates(file, slots, text).map(u64::from)),
        number(linkcheck::parse(file)),
        number(linkcheck::read_entries(file, text)),
        number(check(file, slots, text).and_then(|summary| lengths(summary, job.file_len))),
        number(check_header(file, slots).and_then(|summary| lengths(summary, job.file_len))),
        number(events(file)),
        number(entries(file, text)),
        number(verdict(file, job.file_len, slots)),
        number(duplicates(file, slots, text)),
        number(own_tensor(file, job.slots).map_err(|kind| kind.at(job.file_len))),
    ];
    let sum = seen.into_iter().fold(0, u64::wrapping_add);
    linkcheck::exit(sum as u32 ^ trap(file, job.slots))
}

/// The result, or what a program can learn from the error.
fn number(outcome: Result<u64, Error>) -> u64 {
    outcome.unwrap_or_else(|error| {
        let blame = match error.kind.blame() {
            Blame::File => 1,
            Blame::Limit => 2,
            Blame::Usage => 3,
        };
        let field = match error.kind {
            ErrorKind::Missing(field) => bytes(field.name().as_bytes()),
            _ => 0,
        };
        error.at ^ blame ^ field ^ bytes(error.kind.code().as_bytes())
    })
}

/// A number that depends on every byte.
fn bytes(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum: u64, &byte| sum.rotate_left(5) ^ u64::from(byte))
}

fn lengths(summary: Summary, file_len: u64) -> Result<u64, Error> {
    summary.check_file_len(file_len)?;
    Ok(summary.tensors ^ summary.data_start ^ summary.data_len)
}

/// Every event, the texts included, and every question to the parser.
fn events(mut file: &[u8]) -> Result<u64, Error> {
    let mut parser = HeaderParser::new();
    let mut sum = 0;
    loop {
        sum ^= match parser.next(&mut file)? {
            Event::NeedInput => break,
            Event::HeaderEnd => return Ok(sum),
            Event::Name(text) | Event::Key(text) | Event::Value(text) => bytes(text.as_bytes()),
            Event::Dtype(dtype) => bytes(dtype.name().as_bytes()) ^ u64::from(dtype.bits()),
            Event::Length(value) | Event::Dim(value) | Event::Begin(value) | Event::End(value) => value,
            _ => parser.event_start() ^ parser.position() ^ parser.header_len().unwrap_or(0),
        }
    }
    parser.end_of_input()?;
    Ok(sum)
}

fn entries(mut file: &[u8], name: &mut [u8]) -> Result<u64, Error> {
    let mut entries = Entries::new(name);
    let mut sum = 0;
    loop {
        sum ^= match entries.next(&mut file)? {
            Item::Tensor(entry) => {
                bytes(entry.name_bytes()) ^ bytes(entry.name().as_bytes()) ^ tensor(&entry.info) ^ entry.at
            }
            Item::HeaderEnd => return Ok(sum ^ entries.position()),
            Item::NeedInput => break,
        }
    }
    entries.end_of_input()?;
    Ok(sum)
}

/// A stream's header, its file's length known only afterwards.
fn verdict(mut file: &[u8], file_len: u64, slots: &mut [Slot]) -> Result<u64, Error> {
    let mut check = HeaderCheck::new(None, slots);
    if check.push(&mut file)? == Progress::Rewind {
        return Ok(check.position());
    }
    check.end_of_input()?;
    check.summary().map_or(Ok(0), |summary| lengths(summary, file_len))
}

fn duplicates(mut file: &[u8], slots: &mut [Slot], text: &mut [u8]) -> Result<u64, Error> {
    let mut check = DuplicateCheck::new([bytes(file), 2], slots, text);
    if check.push(&mut file)? == Progress::NeedInput {
        check.end_of_input()?;
    }
    Ok(check.position())
}

/// A tensor that comes from no header.
fn own_tensor(file: &[u8], rank: usize) -> Result<u64, ErrorKind> {
    let dims: [u64; 16] = core::array::from_fn(|index| file.get(index).copied().unwrap_or(0).into());
    let mut shape = Shape::new(dims.get(..rank).unwrap_or(&dims))?;
    shape.push(bytes(file))?;
    let elements = shape.elements()?;
    let Some(dtype) = Dtype::from_name(file) else { return Ok(elements) };
    let info = TensorInfo::new(dtype, shape, bytes(file), elements)?;
    Ok(tensor(&info))
}

fn tensor(info: &TensorInfo) -> u64 {
    let dims = info.shape().dims().iter().fold(0, |sum: u64, &dim| sum ^ dim);
    info.begin() ^ info.end() ^ info.byte_len() ^ dims ^ u64::from(info.dtype().bits())
}

#[cfg(not(feature = "with-panic"))]
fn trap(_: &[u8], _: usize) -> u32 {
    0
}

/// An index that nobody checked: this program must not link.
#[cfg(feature = "with-panic")]
fn trap(file: &[u8], index: usize) -> u32 {
    file[index].into()
}
