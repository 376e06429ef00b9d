//! `safetensors sign`: signs a model for the devices that install it.

use super::{Context, Error, Outcome, Run};
use crate::args::whole;
use crate::input::key::key;
use crate::input::model::Model;
use crate::json::object;
use crate::output::file::Product;
use crate::output::model::NewModel;
use crate::output::overwrite::check_not_in_model;
use crate::tensor::sums::sum_of_model;
use crate::text::number::digits;
use crate::text::{counted, shown_path};
use ed25519_dalek::{Signer, SigningKey, pkcs8::DecodePrivateKey};
use safetensors_slots::Offer;
use std::path::PathBuf;

/// Sign a model for the devices that install it
///
/// Writes an offer of 128 bytes: the length of the model, its counter, the number of the key, the class of
/// devices, the SHA-256 sum of the model, and the Ed25519 signature of these. Exit code: 0 if the offer is
/// written, 1 if the model is invalid, 2 for all other errors, 130 if interrupted.
#[derive(clap::Args)]
pub struct Sign {
    /// Model: a file, or `-` for standard input
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Private key in PEM; `openssl genpkey -algorithm ed25519 -out KEY` makes one
    #[arg(long, value_name = "KEY")]
    key: PathBuf,

    /// Class of devices that may install the model, 1 to 16 bytes
    #[arg(long, value_name = "TEXT", value_parser = device)]
    device: [u8; 16],

    /// Counter of the model; no device goes back to a lower one
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    counter: u32,

    /// Number by which a device finds the public key
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u32>)]
    key_number: u32,

    #[command(flatten)]
    to: NewModel,
}

/// Reads a class of devices, which zeros fill up.
pub fn device(text: &str) -> Result<[u8; 16], String> {
    let (mut device, len) = ([0; 16], text.len());
    let room = device.get_mut(..len).filter(|_| len > 0);
    let room = room.ok_or_else(|| format!("1 to 16 bytes are possible, not {len}"))?;
    room.copy_from_slice(text.as_bytes());
    Ok(device)
}

/// The length of a model in one file, which offers and deltas have as a number of 32 bits.
pub fn short_len(model: &Model) -> Result<u32, Error> {
    let len = model.one_part()?.index().summary().file_len();
    let sentence = || format!("has {}, but a device takes fewer than 4,294,967,296", counted(len, "byte"));
    u32::try_from(len).map_err(|_| Error::limit(model.path(), sentence()))
}

impl Run for Sign {
    fn run(self, context: &Context) -> Outcome {
        let (path, counter) = (&self.to.output, self.counter);
        self.to.check(&[&self.model, &self.key])?;
        let model = Model::open(context, &self.model)?;
        check_not_in_model(&model, path)?;
        let len = short_len(&model)?;
        let key = key(&self.key, "unencrypted \"PRIVATE KEY\"", SigningKey::from_pkcs8_pem)?;
        let sum = sum_of_model(context, &model)?;
        let (key_number, device) = (self.key_number, self.device);
        let offer = Offer { key: key_number, device, len, counter, sum, signature: [0; 64] }.signed();
        let mut product = Product::create(context, path, self.to.force)?;
        product.put(&offer)?;
        product.put(&key.sign(&offer).to_bytes())?;
        product.finish()?;
        let done = object! { output: path.to_string_lossy(), bytes: 128, sha256: digits(&sum) };
        self.to.say(&self.model, done, |out| {
            let (path, of, len) = (shown_path(path), shown_path(&self.model), counted(len, "byte"));
            writeln!(out, "{path}: signs the {len} of {of}, counter {counter}")
        })
    }
}
