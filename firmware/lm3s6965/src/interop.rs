//! Files of other frameworks on the card: all their tensors, and which APIs read them.

use crate::card::NoClock;
use app::Text;
use core::fmt::{self, Write};
use core::ops::ControlFlow;
use embedded_safetensors::io::Seekable;
use embedded_safetensors::query::Query;
use embedded_safetensors::stream::{Receiver, Target};
use embedded_safetensors::validate::SortSlot;
use embedded_safetensors::{Error, Model, ReadAt, ReadError, Tensor, View};
use embedded_sdmmc::{
    BlockDevice, DirEntry, File, Mode, RawDirectory, SdCardError, ShortFileName, VolumeIdx, VolumeManager,
};

/// The longest file, which is read into RAM for [`View`].
const FILE: usize = 3400;
/// The longest tensor, and the longest name.
const TENSOR: usize = 64;
/// The most files.
const FILES: usize = 20;
/// How much of a file arrives at once.
const PIECE: usize = 50;
/// Fewer than tensors: a header in another order is read several times.
const SLOTS: usize = 8;

/// The exit codes: the card cannot be read, and a file is not read as it must be.
const UNREADABLE: u8 = 2;
const WRONG: u8 = 1;

/// The volume, one directory and one file are open.
type Volumes<C> = VolumeManager<C, NoClock, 1, 1, 1>;
type Stored<'v, C> = Seekable<File<'v, C, NoClock, 1, 1, 1>>;

/// Prints all tensors of all files on this card, and which APIs read them.
///
/// # Errors
/// Returns the exit code of the error.
pub fn read_files(
    card: impl BlockDevice<Error = SdCardError>,
    sink: &mut Text<impl Write>,
) -> Result<(), u8> {
    let manager: Volumes<_> = VolumeManager::new_with_limits(card, NoClock, 0);
    let volume = manager.open_raw_volume(VolumeIdx(0)).map_err(|_| UNREADABLE)?;
    let root = manager.open_root_dir(volume).map_err(|_| UNREADABLE)?;
    let mut names = [const { None }; FILES];
    let mut free = names.iter_mut();
    let list = |entry: &DirEntry| {
        if let (false, Some(place)) = (entry.attributes.is_volume(), free.next()) {
            *place = Some(entry.name);
        }
        ControlFlow::Continue(())
    };
    manager.iterate_dir(root, list).map_err(|_| UNREADABLE)?;
    names.iter().flatten().try_for_each(|name| read_file(&manager, root, name, &mut sink.0))
}

fn read_file<C: BlockDevice<Error = SdCardError>>(
    manager: &Volumes<C>,
    root: RawDirectory,
    name: &ShortFileName,
    sink: &mut impl Write,
) -> Result<(), u8> {
    let open = || manager.open_file_in_dir(root, name, Mode::ReadOnly);
    let file = open().map_err(|_| UNREADABLE)?.to_file(manager);
    let (mut memory, mut slots) = ([0; FILE], [SortSlot::EMPTY; SLOTS]);
    let len = read_whole(&file, &mut memory)?;
    let bytes = &memory[..len];
    let view = View::parse_unordered(bytes, &mut slots).map_err(|_| WRONG)?;
    print_tensors(name, &view, sink).map_err(|_| WRONG)?;
    let mut file = Seekable::new(file);
    let mut print = |api: &str, outcome: Outcome| print_outcome(name, api, outcome, sink);
    print("Model::open", in_order(&mut file, &view))?;
    print("Model::open_unordered", in_any_order(&mut file, &view))?;
    print("View::parse", View::parse(bytes).map_err(Some).and_then(|other| same(&other, &view)))?;
    print("View::parse_unordered", Ok(()))?;
    print("Receiver", receive(bytes, &view))
}

/// An error of the file; `None` if something else was read, or nothing.
type Outcome = Result<(), Option<Error>>;

fn of_read<E>(error: ReadError<E>) -> Option<Error> {
    match error {
        ReadError::Format(error) => Some(error),
        _ => None,
    }
}

fn read_whole<C: BlockDevice<Error = SdCardError>>(
    file: &File<'_, C, NoClock, 1, 1, 1>,
    memory: &mut [u8],
) -> Result<usize, u8> {
    let len = file.length() as usize;
    let memory = memory.get_mut(..len).ok_or(WRONG)?;
    let mut at = 0;
    while at < len {
        at += file.read(&mut memory[at..]).map_err(|_| UNREADABLE)?;
    }
    Ok(len)
}

fn print_tensors(file: &ShortFileName, view: &View<'_>, sink: &mut impl Write) -> fmt::Result {
    for tensor in view.tensors() {
        let (Ok(tensor), mut name) = (tensor, [0; TENSOR]) else { return Err(fmt::Error) };
        let name = tensor.name().decode(&mut name).map_err(|_| fmt::Error)?;
        write!(sink, "{file}: {name} {} {:?} ", tensor.dtype(), tensor.shape().dims())?;
        tensor.bytes().iter().try_for_each(|byte| write!(sink, "{byte:02x}"))?;
        writeln!(sink)?;
    }
    Ok(())
}

fn print_outcome(file: &ShortFileName, api: &str, outcome: Outcome, sink: &mut impl Write) -> Result<(), u8> {
    let code = match outcome {
        Ok(()) => "ok",
        Err(Some(error)) => error.kind.code(),
        Err(None) => return Err(WRONG),
    };
    writeln!(sink, "{file}: {api} {code}").map_err(|_| WRONG)
}

fn in_order<C: BlockDevice<Error = SdCardError>>(file: &mut Stored<'_, C>, view: &View<'_>) -> Outcome {
    let mut window = [0; PIECE];
    let model = Model::open(&mut *file, &mut window).map_err(of_read)?;
    read_all(model, view, &mut window)
}

fn in_any_order<C: BlockDevice<Error = SdCardError>>(file: &mut Stored<'_, C>, view: &View<'_>) -> Outcome {
    let (mut window, mut slots) = ([0; PIECE], [SortSlot::EMPTY; SLOTS]);
    let model = Model::open_unordered(&mut *file, &mut slots, &mut window).map_err(of_read)?;
    read_all(model, view, &mut window)
}

/// Runs a check of each tensor of a valid file, which gets its name.
fn each(view: &View<'_>, mut check: impl FnMut(&str, &Tensor<'_>) -> Outcome) -> Outcome {
    view.tensors().try_for_each(|tensor| {
        let (tensor, mut name) = (tensor.map_err(Some)?, [0; TENSOR]);
        let name = tensor.name().decode(&mut name).map_err(Some)?;
        check(name, &tensor)
    })
}

fn equal(found: &[u8], tensor: &Tensor<'_>) -> Outcome {
    if found == tensor.bytes() { Ok(()) } else { Err(None) }
}

fn read_all<S: ReadAt>(mut model: Model<S>, view: &View<'_>, window: &mut [u8]) -> Outcome {
    each(view, |name, tensor| {
        let info = model.find(name, window).map_err(of_read)?.ok_or(None)?;
        let mut bytes = [0; TENSOR];
        let bytes = bytes.get_mut(..tensor.bytes().len()).ok_or(None)?;
        let found = model.reader(&info).map_err(Some)?.read_to_end(bytes).map_err(of_read)?;
        equal(found, tensor)
    })
}

fn same(other: &View<'_>, view: &View<'_>) -> Outcome {
    each(view, |name, tensor| {
        let found = other.find(name).map_err(Some)?.ok_or(None)?;
        equal(found.bytes(), tensor)
    })
}

/// Receives each tensor of a file that arrives in pieces.
fn receive(file: &[u8], view: &View<'_>) -> Outcome {
    each(view, |name, tensor| {
        let mut bytes = [0; TENSOR];
        let bytes = bytes.get_mut(..tensor.bytes().len()).ok_or(None)?;
        let mut receiver = Receiver::new([Target::new(Query::required(name), bytes)]);
        for piece in file.chunks(PIECE) {
            receiver.push(piece).map_err(Some)?;
        }
        receiver.end_of_input().map_err(Some)?;
        let target = receiver.targets().first().and_then(Target::bytes);
        equal(target.ok_or(None)?, tensor)
    })
}
