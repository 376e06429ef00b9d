//! The storage that a machine is started with: an image in a file, and the options that put it in.

use super::card;
use super::content::Content;
use super::partitions::FLASH;
use crate::workspace;
use std::path::Path;

/// What a board reads its model from.
#[derive(Clone, Copy)]
pub enum Medium {
    /// All is in the program.
    Nothing,
    /// A memory card, in the slot or not.
    Card(Card),
    /// A bank of NOR flash with files at these bytes of it, erased elsewhere.
    Nor(&'static [(u32, Content)]),
    /// The same, protected against writing.
    Protected(&'static [(u32, Content)]),
    /// A file at this address, in flash that the program is in too.
    Flash(u32, Content),
}

/// A memory card.
#[derive(Clone, Copy)]
pub enum Card {
    /// Not in the slot.
    Missing,
    /// Never formatted.
    Empty,
    /// With files.
    Holding(&'static [(&'static str, Content)]),
}

const ERASED: u8 = 0xff;

impl Medium {
    /// Writes the image, if there is one, and gives the options of QEMU.
    pub fn options(self, image: &Path) -> Result<Vec<String>, String> {
        let path = image.display();
        Ok(match self {
            Self::Nothing | Self::Card(Card::Missing) => Vec::new(),
            Self::Card(card) => {
                card.write(image)?;
                vec!["-drive".to_owned(), format!("if=sd,format=raw,file={path}")]
            }
            Self::Nor(parts) => {
                workspace::write(image, &nor(parts)?)?;
                vec!["-drive".to_owned(), format!("if=pflash,unit=1,format=raw,file={path}")]
            }
            Self::Protected(parts) => {
                workspace::write(image, &nor(parts)?)?;
                vec!["-drive".to_owned(), format!("if=pflash,unit=1,format=raw,readonly=on,file={path}")]
            }
            Self::Flash(address, content) => {
                workspace::write(image, &content.bytes()?)?;
                vec!["-device".to_owned(), format!("loader,file={path},addr={address:#x},force-raw=on")]
            }
        })
    }

    /// As [`options`](Self::options), for a machine that has flash and nothing else.
    pub fn files(self, image: &Path) -> Result<Vec<String>, String> {
        match self {
            Self::Nothing => Ok(Vec::new()),
            Self::Flash(address, content) => {
                workspace::write(image, &content.bytes()?)?;
                Ok(vec!["--flash".to_owned(), format!("{address:#x}={}", image.display())])
            }
            Self::Card(_) | Self::Nor(_) | Self::Protected(_) => {
                Err("the machine has no slot for cards, and no bank of flash".to_owned())
            }
        }
    }
}

impl Card {
    fn write(self, image: &Path) -> Result<(), String> {
        let Self::Holding(files) = self else { return card::write_empty(image) };
        let files: Result<Vec<_>, String> =
            files.iter().map(|(name, content)| Ok((*name, content.bytes()?))).collect();
        let files = files?;
        card::write(image, &files.iter().map(|(name, bytes)| (*name, &bytes[..])).collect::<Vec<_>>())
    }
}

fn nor(parts: &[(u32, Content)]) -> Result<Vec<u8>, String> {
    let mut image = vec![ERASED; FLASH as usize];
    for (at, content) in parts {
        let (at, bytes) = (*at as usize, content.bytes()?);
        let place = image.get_mut(at..at + bytes.len()).ok_or("the files do not fit into the flash")?;
        place.copy_from_slice(&bytes);
    }
    Ok(image)
}
