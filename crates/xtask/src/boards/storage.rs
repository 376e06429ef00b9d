//! The storage that a case starts with: valid and damaged files, and the emulator options that attach them.

use super::Case;
use crate::toolchain::own_cargo;
use crate::{minilm, workspace};
use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions};
use fscommon::StreamSlice;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The size of a NOR flash bank.
const NOR: usize = 32 << 20;
const ERASED: u8 = 0xff;

impl Case {
    /// Writes the image, if there is one, and returns the options of QEMU.
    pub(super) fn options(&self, image: &Path) -> Result<Vec<String>, String> {
        let path = image.display();
        let clock =
            if self.counts { vec!["-icount".to_owned(), "shift=10,sleep=off".to_owned()] } else { vec![] };
        let storage = if self.blank_card || self.card.is_some() {
            let files = self.files(self.card.as_deref().unwrap_or_default())?;
            write_card(image, (!self.blank_card).then_some(&files))
                .map_err(|error| format!("cannot write {path}: {error}"))?;
            Some(("-drive", format!("if=sd,format=raw,file={path}")))
        } else if let Some(files) = &self.nor {
            workspace::write(image, &nor(self.files(files)?)?)?;
            let protection = if self.protected { "readonly=on," } else { "" };
            Some(("-drive", format!("if=pflash,unit=1,format=raw,{protection}file={path}")))
        } else {
            let address = self.write_flash(image)?;
            address.map(|at| ("-device", loaded(image, at)))
        };
        let mapped = match &self.mapped {
            Some((at, file)) => Some(("-device", loaded(&self::path(file)?, *at))),
            None => None,
        };
        let storage = storage.into_iter().chain(mapped).flat_map(|(option, what)| [option.to_owned(), what]);
        Ok(clock.into_iter().chain(storage).collect())
    }

    /// Like [`options`](Self::options), for an emulator with flash and nothing else.
    pub(super) fn flash_options(&self, image: &Path) -> Result<Vec<String>, String> {
        let address = self.write_flash(image)?;
        let file = address.map(|address| ["--flash".to_owned(), format!("{address:#x}={}", image.display())]);
        let table = self.partition_table.clone().map(|table| ["--partition-table".to_owned(), table]);
        Ok(file.into_iter().chain(table).flatten().collect())
    }

    /// Writes the image with the file for the flash, and returns its address.
    fn write_flash(&self, image: &Path) -> Result<Option<u32>, String> {
        let Some((address, file)) = &self.flash else { return Ok(None) };
        workspace::write(image, &self.replaced(bytes(file)?)?)?;
        Ok(Some(*address))
    }

    /// Returns the contents of files; the first one is changed.
    fn files<T: Clone>(&self, files: &[(T, String)]) -> Result<Vec<(T, Vec<u8>)>, String> {
        let contents = |(at, (place, file)): (usize, &(T, String))| {
            let bytes = bytes(file)?;
            Ok((place.clone(), if at == 0 { self.replaced(bytes)? } else { bytes }))
        };
        files.iter().enumerate().map(contents).collect()
    }

    /// Returns the program, or the path of a copy beside the image in which texts are replaced.
    pub(super) fn changed_program(&self, program: PathBuf, image: &Path) -> Result<PathBuf, String> {
        if self.replaces.is_empty() || self.card.is_some() || self.nor.is_some() || self.flash.is_some() {
            return Ok(program);
        }
        let path = image.with_extension("elf");
        workspace::write(&path, &self.replaced(workspace::read(&program)?)?)?;
        Ok(path)
    }

    /// Returns a file in which the texts are replaced, and the bit is flipped.
    pub(super) fn replaced(&self, mut file: Vec<u8>) -> Result<Vec<u8>, String> {
        for [text, other] in &self.replaces {
            replace(&mut file, text.as_bytes(), other.as_bytes())?;
        }
        if let Some(at) = self.flips {
            *file.get_mut(at).ok_or_else(|| format!("the file has no byte {at}"))? ^= 1;
        }
        Ok(file)
    }
}

/// Returns the device of QEMU that puts a file at an address of the memory.
fn loaded(file: &Path, at: u32) -> String {
    format!("loader,file={},addr={at:#x},force-raw=on", file.display())
}

/// Replaces bytes that occur once by as many others.
fn replace(file: &mut [u8], bytes: &[u8], other: &[u8]) -> Result<(), String> {
    let shown = String::from_utf8_lossy(bytes);
    if bytes.len() != other.len() || bytes.is_empty() {
        return Err(format!("{shown} must be replaced by as many bytes"));
    }
    let windows = file.windows(bytes.len()).enumerate();
    let places: Vec<usize> = windows.filter(|(_, window)| *window == bytes).map(|(at, _)| at).collect();
    let [at] = places[..] else {
        return Err(format!("{shown} occurs {} times, and must occur once", places.len()));
    };
    file[at..at + other.len()].copy_from_slice(other);
    Ok(())
}

/// Returns the contents of a file, or the text after `text:`, or after `counted:`, the length of a text and
/// the text; of `FILE/COUNT`, only so many bytes.
fn bytes(file: &str) -> Result<Vec<u8>, String> {
    let count = file.rsplit_once('/').and_then(|(file, count)| Some((file, count.parse().ok()?)));
    let (file, count) = count.unwrap_or((file, usize::MAX));
    let mut bytes = match file.split_once(':') {
        Some(("text", text)) => text.as_bytes().to_vec(),
        Some(("counted", text)) => [&text.len().to_le_bytes()[..4], text.as_bytes()].concat(),
        _ => workspace::read(&path(file)?)?,
    };
    bytes.truncate(count);
    Ok(bytes)
}

/// Returns the path of a file: the conformance vectors, their manifest, the model of the minimal programs, a
/// file of safestructures, that of a framework (`interop/FRAMEWORK/FILE`), a file of the sentence transformer
/// (`minilm/FILE`), or a model of `firmware/app`.
pub(super) fn path(name: &str) -> Result<PathBuf, String> {
    let path = match name {
        "vectors" => return vectors(),
        file if file.starts_with("minilm/") => return minilm::file(file.trim_start_matches("minilm/")),
        "manifest" => "tests/vectors/manifest.json".to_owned(),
        "minimal" => "firmware/minimal/model.safetensors".to_owned(),
        "structure" => "tests/structures/files/training.safetensors".to_owned(),
        file if file.starts_with("interop/") => format!("tests/{file}.safetensors"),
        model => format!("firmware/app/models/{model}.safetensors"),
    };
    Ok(workspace::root().join(path))
}

/// Concatenates the vectors that are small enough for a device.
fn vectors() -> Result<PathBuf, String> {
    static PACKED: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let path = workspace::target_dir().join("firmware/VECTORS.BIN");
        workspace::write(&path, b"")?;
        let program = ["run", "--quiet", "--package", "verification", "--bin", "pack", "--"];
        own_cargo().args(program).args([&path]).capture().map(|_| path)
    });
    PACKED.clone()
}

fn nor(files: Vec<(usize, Vec<u8>)>) -> Result<Vec<u8>, String> {
    let mut image = vec![ERASED; NOR];
    for (at, file) in files {
        let place = image.get_mut(at..at + file.len()).ok_or("the files do not fit into the flash")?;
        place.copy_from_slice(&file);
    }
    Ok(image)
}

const SECTOR: u64 = 512;
/// The emulator requires a power of two. The image is sparse, so it takes little space on disk.
const CARD: u64 = SECTOR << 23;
/// The bytes of a cluster on cards of this size.
const CLUSTER: u32 = 32 << 10;
/// The offset of the partition.
const PARTITION: u64 = SECTOR << 11;

/// Writes a card: blank, or formatted as cameras do it, with one FAT32 partition and these files in its
/// root. Names have up to eight capitals, a dot and up to three more.
fn write_card(path: &Path, files: Option<&Vec<(String, Vec<u8>)>>) -> io::Result<()> {
    let mut card = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    card.set_len(CARD)?;
    let Some(files) = files else { return Ok(()) };
    card.write_all(&partition_table())?;
    let mut volume = StreamSlice::new(card, PARTITION, CARD)?;
    let format = FormatVolumeOptions::new().fat_type(FatType::Fat32).bytes_per_cluster(CLUSTER);
    fatfs::format_volume(&mut volume, format)?;
    volume.rewind()?;
    let volume = FileSystem::new(volume, FsOptions::new())?;
    for (name, bytes) in files {
        volume.root_dir().create_file(name)?.write_all(bytes)?;
    }
    volume.unmount()
}

/// Returns the first sector: one partition, up to the end.
fn partition_table() -> [u8; 512] {
    const FAT32: u8 = 0x0c;
    let mut table = [0; 512];
    let sectors = |bytes: u64| u32::try_from(bytes / SECTOR).unwrap_or(u32::MAX).to_le_bytes();
    // Cylinder numbers are not used: the highest possible values.
    table[446..454].copy_from_slice(&[0, 0xfe, 0xff, 0xff, FAT32, 0xfe, 0xff, 0xff]);
    table[454..458].copy_from_slice(&sectors(PARTITION));
    table[458..462].copy_from_slice(&sectors(CARD - PARTITION));
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    table
}
