//! The sums of a whole file.

use embedded_safetensors::integrity::{Crc32, Sha256, Sum};
use embedded_safetensors::{FileModel, ReadAt, file::FileErrorKind};

/// Bytes read at a time.
const BLOCK: usize = 64 * 1024;

/// The sums of a whole file.
#[derive(Debug, PartialEq, Eq)]
pub struct Sums {
    pub sha256: [u8; 32],
    pub crc32: u32,
}

impl Sums {
    /// Reads the file once.
    ///
    /// # Errors
    /// The file cannot be read, or has changed since it was opened.
    pub fn of(mut model: &FileModel) -> Result<Self, FileErrorKind> {
        let (mut sha256, mut crc32) = (Sha256::new(), Crc32::new());
        let (mut at, end) = (0, model.index().summary().file_len());
        let mut block = vec![0; BLOCK];
        while at < end {
            let wanted = usize::try_from(end - at).map_or(BLOCK, |left| left.min(BLOCK));
            let read = model.read_at(at, &mut block[..wanted]);
            let read = read.map_err(|error| FileErrorKind::system("read", error))?;
            if read == 0 {
                return Err(FileErrorKind::Changed);
            }
            sha256.update(&block[..read]);
            crc32.update(&block[..read]);
            at += read as u64;
        }
        Ok(Self { sha256: sha256.finish(), crc32: crc32.finish() })
    }
}
