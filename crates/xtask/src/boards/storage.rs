//! The storage that a case starts with: valid and damaged files, and the emulator options that attach them.

use crate::toolchain::own_cargo;
use crate::{model, workspace};
use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions};
use fscommon::StreamSlice;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where the program of a case finds its files. Nothing is set if all is in the program, or if the card
/// slot is empty. Files are named as for [`bytes`].
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Storage {
    /// A memory card with these files.
    card: Option<Vec<(String, String)>>,
    /// A card that was never formatted.
    #[serde(default)]
    blank_card: bool,
    /// A NOR flash bank with files at these offsets, erased elsewhere.
    nor: Option<Vec<(usize, String)>>,
    /// The NOR flash bank is write-protected.
    #[serde(default)]
    protected: bool,
    /// A file at this address, in the flash that also holds the program.
    flash: Option<(u32, String)>,
    /// The first text, which occurs once in the file in flash, or else in the program and so in its model, is
    /// replaced by the second.
    replaces: Option<[String; 2]>,
    /// The partition table, by its path from the board's directory, if it is not `partitions.csv`.
    partition_table: Option<String>,
}

/// The size of a NOR flash bank.
const NOR: usize = 32 << 20;
const ERASED: u8 = 0xff;

impl Storage {
    /// Writes the image, if there is one, and returns the options of QEMU.
    pub fn options(&self, image: &Path) -> Result<Vec<String>, String> {
        let (path, protection) = (image.display(), if self.protected { "readonly=on," } else { "" });
        let (option, what) = if let Some(files) = &self.card {
            write_card(image, Some(files))?;
            ("-drive", format!("if=sd,format=raw,file={path}"))
        } else if self.blank_card {
            write_card(image, None)?;
            ("-drive", format!("if=sd,format=raw,file={path}"))
        } else if let Some(files) = &self.nor {
            workspace::write(image, &nor(files)?)?;
            ("-drive", format!("if=pflash,unit=1,format=raw,{protection}file={path}"))
        } else if let Some(address) = self.write_flash(image)? {
            ("-device", format!("loader,file={path},addr={address:#x},force-raw=on"))
        } else {
            return Ok(Vec::new());
        };
        Ok(vec![option.to_owned(), what])
    }

    /// Like [`options`](Self::options), for an emulator with flash and nothing else.
    pub fn flash(&self, image: &Path) -> Result<Vec<String>, String> {
        let address = self.write_flash(image)?;
        let file = address.map(|address| ["--flash".to_owned(), format!("{address:#x}={}", image.display())]);
        let table = self.partition_table.clone().map(|table| ["--partition-table".to_owned(), table]);
        Ok(file.into_iter().chain(table).flatten().collect())
    }

    /// Writes the image with the file for the flash, and returns its address.
    fn write_flash(&self, image: &Path) -> Result<Option<u32>, String> {
        let Some((address, file)) = &self.flash else { return Ok(None) };
        workspace::write(image, &self.replaced(&bytes(file)?)?)?;
        Ok(Some(*address))
    }

    /// Returns the program, or the path of a copy beside the image in which a text is replaced.
    pub fn program(&self, program: PathBuf, image: &Path) -> Result<PathBuf, String> {
        // With flash, the text is replaced in the file there.
        if self.replaces.is_none() || self.flash.is_some() {
            return Ok(program);
        }
        let path = image.with_extension("elf");
        workspace::write(&path, &self.replaced(&workspace::read(&program)?)?)?;
        Ok(path)
    }

    /// Returns a file in which the text is replaced.
    pub fn replaced(&self, file: &[u8]) -> Result<Vec<u8>, String> {
        let mut file = file.to_vec();
        if let Some([text, other]) = &self.replaces {
            replace(&mut file, text.as_bytes(), other.as_bytes())?;
        }
        Ok(file)
    }
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

/// Returns the contents of a file: a committed model as `NAME`, damaged as `NAME/corrupt`, `NAME/cut` and
/// `NAME/short`; the model of the minimal programs as `minimal`; that of another framework as
/// `interop/FRAMEWORK/FILE`; a file of safestructures as `structure`, with another version or a key that does
/// not match as `structure/version` and `structure/key`; the
/// conformance vectors as `vectors`, their expectations as `manifest`, and `manifest/wrong` with two wrong
/// expectations.
pub fn bytes(file: &str) -> Result<Vec<u8>, String> {
    if file.starts_with("interop/") {
        let path = workspace::root().join("tests").join(file);
        return workspace::read(&path.with_extension("safetensors"));
    }
    let (name, damage) = file.split_once('/').unwrap_or((file, ""));
    let valid = workspace::read(&path(name)?)?;
    match damage {
        "" => Ok(valid),
        "corrupt" => corrupt(valid),
        "short" => Ok(valid[..5].to_vec()),
        "version" => changed(valid, "1.0.0", "2.0.0"),
        "key" => changed(valid, r#"{\"0\": {\"data_type\": \"int"#, r#"{\"2\": {\"data_type\": \"int"#),
        "cut" => Ok(valid[..valid.len().saturating_sub(1000)].to_vec()),
        "wrong" => wrong(valid),
        _ => Err(format!("unknown kind of damage \"{damage}\"")),
    }
}

/// Returns the path of a file.
pub fn path(name: &str) -> Result<PathBuf, String> {
    Ok(match name {
        "manifest" => manifest(),
        "vectors" => vectors()?,
        "minimal" => workspace::root().join("firmware/minimal/model.safetensors"),
        "structure" => workspace::root().join("tests/structures/files/training.safetensors"),
        model => model_path(model),
    })
}

/// Returns a file in which a text is replaced by another of the same length.
fn changed(mut file: Vec<u8>, text: &str, other: &str) -> Result<Vec<u8>, String> {
    replace(&mut file, text.as_bytes(), other.as_bytes())?;
    Ok(file)
}

/// Returns the path of a committed model.
pub fn model_path(name: &str) -> PathBuf {
    workspace::root().join("firmware/app/models").join(name).with_extension("safetensors")
}

/// Returns the path of the committed manifest of the conformance vectors.
pub fn manifest() -> PathBuf {
    workspace::root().join("tests/vectors/manifest.json")
}

/// Concatenates the vectors that are small enough for a device.
pub fn vectors() -> Result<PathBuf, String> {
    static PACKED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let pack = || {
        let path = workspace::target_dir().join("firmware/VECTORS.BIN");
        workspace::write(&path, b"")?;
        let program = ["run", "--release", "--quiet", "--package", "verification", "--bin", "pack", "--"];
        own_cargo().args(program).args([&path]).capture()?;
        Ok(path)
    };
    PACKED.get_or_init(pack).clone()
}

/// Flips one bit of the header, so that the last tensor begins elsewhere.
fn corrupt(mut model: Vec<u8>) -> Result<Vec<u8>, String> {
    const OFFSETS: &[u8] = br#""data_offsets":["#;
    let header = model::data_start(&model).and_then(|end| model.get(..end));
    let at = header.and_then(|header| header.windows(OFFSETS.len()).rposition(|bytes| bytes == OFFSETS));
    let digit = at.and_then(|at| model.get_mut(at + OFFSETS.len()));
    *digit.ok_or("the model's header is not as expected")? ^= 1;
    Ok(model)
}

/// Changes two expectations: the byte of an error, and an offset of a valid file's tensor.
fn wrong(manifest: Vec<u8>) -> Result<Vec<u8>, String> {
    const CHANGES: [[&str; 3]; 2] = [
        ["{\"id\":\"d1-far-apart\",", "\"at\":217,", "\"at\":218,"],
        ["{\"id\":\"name-cases\",", "\"data_offsets\":[1,2]", "\"data_offsets\":[0,1]"],
    ];
    let mut text = String::from_utf8(manifest).map_err(|error| error.to_string())?;
    for [line, right, wrong] in CHANGES {
        let place = text.find(line).and_then(|begin| Some(begin + text[begin..].find(right)?));
        let at = place.ok_or_else(|| format!("the manifest does not say {right} in {line}"))?;
        text.replace_range(at..at + right.len(), wrong);
    }
    Ok(text.into_bytes())
}

fn nor(files: &[(usize, String)]) -> Result<Vec<u8>, String> {
    let mut image = vec![ERASED; NOR];
    for (at, file) in files {
        let bytes = bytes(file)?;
        let place = image.get_mut(*at..at + bytes.len()).ok_or("the files do not fit into the flash")?;
        place.copy_from_slice(&bytes);
    }
    Ok(image)
}

const SECTOR: u64 = 512;
/// The emulator requires a power of two. The image is sparse, so it takes little space on disk.
const CARD: u64 = SECTOR << 20;
/// The offset of the partition.
const PARTITION: u64 = SECTOR << 11;

/// Writes a card: blank, or formatted as cameras do it, with one FAT32 partition and these files in its
/// root. Names have up to eight capitals, a dot and up to three more.
fn write_card(path: &Path, files: Option<&[(String, String)]>) -> Result<(), String> {
    let mut contents = Vec::new();
    for (name, file) in files.unwrap_or_default() {
        contents.push((name.as_str(), bytes(file)?));
    }
    let write = || -> io::Result<()> {
        let mut card = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        card.set_len(CARD)?;
        if files.is_none() {
            return Ok(());
        }
        card.write_all(&partition_table())?;
        let mut volume = StreamSlice::new(card, PARTITION, CARD)?;
        fatfs::format_volume(&mut volume, FormatVolumeOptions::new().fat_type(FatType::Fat32))?;
        volume.rewind()?;
        let volume = FileSystem::new(volume, FsOptions::new())?;
        for (name, bytes) in contents {
            volume.root_dir().create_file(name)?.write_all(&bytes)?;
        }
        volume.unmount()
    };
    write().map_err(|error| format!("cannot write {}: {error}", path.display()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replace_needs_one_occurrence_and_equal_lengths() {
        let (mut file, mut repeated) = (*b"abcabd", *b"abab");
        assert_eq!(replace(&mut file, b"abd", b"xyz"), Ok(()));
        assert_eq!(&file, b"abcxyz");
        let fails = [("abd", "xyz"), ("xyz", "xy"), ("", "")];
        assert!(
            fails.iter().all(|(text, other)| replace(&mut file, text.as_bytes(), other.as_bytes()).is_err())
        );
        assert!(replace(&mut repeated, b"ab", b"xy").is_err_and(|sentence| sentence.contains("2 times")));
    }
}
