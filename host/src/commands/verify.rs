//! `safetensors verify`: verifies a model against its signed offer, as a device does.

use super::sign::device;
use super::{Context, Error, Outcome, Run};
use crate::args::whole;
use crate::input::key::key;
use crate::input::model::Model;
use crate::input::open::read_small;
use crate::print::verdict::{self, Sound};
use crate::tensor::sums::sum_of_model;
use crate::text::number::digits;
use crate::text::{counted, quoted};
use ed25519_dalek::{VerifyingKey, pkcs8::DecodePublicKey};
use safetensors_slots::{Authority, Ed25519, Offer};
use std::path::{Path, PathBuf};

/// Verify a model against its signed offer, as a device does
///
/// Exit code: 0 if the offer is signed, and the model has its length and sum; 1 if not, or if the model is
/// invalid, or if the device or the counter is not as requested; 2 if something cannot be read; 130 if
/// interrupted.
#[derive(clap::Args)]
pub struct Verify {
    /// Model: a file, or `-` for standard input
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Offer that `safetensors sign` has written
    #[arg(value_name = "OFFER")]
    offer: PathBuf,

    /// Public key in PEM, as `openssl pkey -pubout` writes it; of several, one must have signed
    #[arg(long = "key", value_name = "KEY", required = true)]
    keys: Vec<PathBuf>,

    /// Class of devices that the offer must have, 1 to 16 bytes
    #[arg(long, value_name = "TEXT", value_parser = device)]
    device: Option<[u8; 16]>,

    /// Reject a lower counter
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u32>)]
    min_counter: u32,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Run for Verify {
    fn run(self, context: &Context) -> Outcome {
        let model = Model::open(context, &self.model)?;
        let offer = read(&self.offer)?;
        let bad = |path, kind, sentence: String| Err(Error::bad(path, kind, sentence));
        let key = |path: &PathBuf| key(path, "\"PUBLIC KEY\"", VerifyingKey::from_public_key_pem);
        let keys = self.keys.iter().map(key).collect::<Result<Vec<_>, _>>()?;
        // A file has no number, so that each key counts for the number in the offer.
        let keys: Vec<_> = keys.iter().map(|key| (offer.key, key.to_bytes())).collect();
        if !Ed25519(&keys).has_signed(offer.key, &offer.signed(), &offer.signature) {
            return bad(&self.offer, "signature", "is not signed with a key that was given".to_owned());
        }
        if let Some(device) = self.device.filter(|device| *device != offer.device) {
            let text = |device: [u8; 16]| quoted(String::from_utf8_lossy(&device).trim_end_matches('\0'));
            let [is, needed] = [offer.device, device].map(text);
            return bad(&self.offer, "device", format!("is for the device {is}, not {needed}"));
        }
        let (counter, least) = (offer.counter, self.min_counter);
        if counter < least {
            let sentence = format!("has the counter {counter}, but {least} or more is needed");
            return bad(&self.offer, "counter", sentence);
        }
        let (len, said) = (model.one_part()?.index().summary().file_len(), offer.len.into());
        if len != said {
            let [len, said] = [len, said].map(|len| counted(len, "byte"));
            return bad(&self.model, "length", format!("has {len}, but the offer says {said}"));
        }
        let sum = sum_of_model(context, &model)?;
        if sum != offer.sum {
            let [sum, said] = [sum, offer.sum].map(|sum| digits(&sum));
            return bad(&self.model, "changed", format!("its sum is {sum}, but the offer says {said}"));
        }
        Ok(verdict::print(Ok(&Sound::of(&model)), &self.model, self.json)?)
    }
}

fn read(path: &Path) -> Result<Offer, Error> {
    let bytes = read_small(path).map_err(|reason| Error::not_read(path, reason))?;
    let offer = bytes[..].try_into().ok().and_then(Offer::from_bytes);
    offer.ok_or_else(|| Error::about(path, "is no offer of 128 bytes that begins with \"stm1\""))
}
