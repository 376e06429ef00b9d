//! What is said and signed about a model.

use crate::error::SlotError;
use crate::state::put;

/// The offer of a model: which bytes it has, which devices may use it, and who signed that.
///
/// It has 128 bytes: `stm1`, and these fields; numbers are in little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The number of the key that signed it.
    pub key: u32,
    /// The class of devices, any 16 bytes.
    pub device: [u8; 16],
    /// The length of the file.
    pub len: u32,
    /// A device never goes back to a lower one.
    pub counter: u32,
    /// The SHA-256 of the file.
    pub sum: [u8; 32],
    /// The signature of the 64 bytes before it.
    pub signature: [u8; 64],
}

impl Offer {
    /// Returns the offer with these bytes, if it is one.
    pub fn from_bytes(bytes: &[u8; 128]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (key, rest) = rest.split_first_chunk()?;
        let (device, rest) = rest.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        let (counter, rest) = rest.split_first_chunk()?;
        let (sum, rest) = rest.split_first_chunk()?;
        let [key, len, counter] = [key, len, counter].map(|bytes| u32::from_le_bytes(*bytes));
        Some(Self { key, device: *device, len, counter, sum: *sum, signature: *rest.first_chunk()? })
    }

    /// Returns the bytes that are signed. The signature follows them.
    pub fn signed(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        put(&mut bytes, 0, &MAGIC);
        put(&mut bytes, 4, &self.key.to_le_bytes());
        put(&mut bytes, 8, &self.device);
        put(&mut bytes, 24, &self.len.to_le_bytes());
        put(&mut bytes, 28, &self.counter.to_le_bytes());
        put(&mut bytes, 32, &self.sum);
        bytes
    }

    /// Checks that an owner of the device signed it, and that it is for this class of devices.
    ///
    /// # Errors
    /// [`SlotError::Signature`], [`SlotError::Device`].
    pub fn check<E>(&self, authority: &impl Authority, device: &[u8; 16]) -> Result<(), SlotError<E>> {
        if !authority.has_signed(self.key, &self.signed(), &self.signature) {
            return Err(SlotError::Signature);
        }
        if self.device == *device { Ok(()) } else { Err(SlotError::Device) }
    }
}

const MAGIC: [u8; 4] = *b"stm1";

/// Whoever may install models; a function is one, too.
pub trait Authority {
    /// Whether the owner of the key signed this message.
    fn has_signed(&self, key: u32, message: &[u8], signature: &[u8; 64]) -> bool;
}

impl<F: Fn(u32, &[u8], &[u8; 64]) -> bool> Authority for F {
    fn has_signed(&self, key: u32, message: &[u8], signature: &[u8; 64]) -> bool {
        self(key, message, signature)
    }
}

/// Public keys for Ed25519 (RFC 8032), each with its number. Two allow to replace one.
#[cfg(feature = "ed25519")]
#[derive(Clone, Copy, Debug)]
pub struct Ed25519<'k>(pub &'k [(u32, [u8; 32])]);

#[cfg(feature = "ed25519")]
impl Authority for Ed25519<'_> {
    fn has_signed(&self, key: u32, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        let mut keys = self.0.iter().filter(|(number, _)| *number == key);
        keys.any(|(_, key)| {
            ed25519_dalek::VerifyingKey::from_bytes(key)
                .is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
        })
    }
}
