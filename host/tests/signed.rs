//! `safetensors sign` and `safetensors verify`: offers, keys, and what does not match.
#![cfg(unix)]

use crate::support::{Place, sound};
use std::fs;

/// Keys and offers.
const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys");
/// The key in RFC 8410, and its public key.
pub const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys/signer.pem");
pub const PUBLIC_KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys/signer-public.pem");
/// The offer of the model [`sound`]. `openssl pkeyutl -verify -rawin` accepts its signature.
pub const SOUND_OFFER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys/sound.offer");
const SIGN: &str = "sign --key signer.pem --counter 7";

/// A directory with a model, its offer and keys.
fn place() -> Place {
    let place = Place::new();
    for entry in fs::read_dir(KEYS).expect("a directory").map(|entry| entry.expect("an entry")) {
        place.put(entry.file_name(), &fs::read(entry.path()).expect("a file"));
    }
    place.put("m", &sound());
    place
}

#[test]
fn an_offer_has_64_bytes_and_their_signature() {
    let place = place();
    place.done(format!("{SIGN} m --device lamp -o out").split(' '));
    assert_eq!(place.read("out"), place.read("sound.offer"));
    let verify = "verify m out --key signer-public.pem --key other-public.pem --device lamp --min-counter 7";
    place.done(verify.split(' '));
    let sign = "sign m --key signer.pem -o new --device 0123456789abcdef --counter 4294967295 --key-number 3";
    place.done(sign.split(' '));
    assert_eq!(place.read("new")[..32], *b"stm1\x03\0\0\x000123456789abcdef\x76\0\0\0\xff\xff\xff\xff");
    place.done("verify m new --key signer-public.pem".split(' '));
}

/// The page of `verify` has what else does not match. A sentence about a key has nothing of it.
#[test]
fn wrong_offers_keys_and_models_are_one_sentence() {
    let (place, offer) = (place(), fs::read(SOUND_OFFER).expect("an offer"));
    place.put("127", &offer[..127]).put("129", &[&offer[..], b"\n"].concat());
    let pem = place.read("signer.pem");
    place
        .put("cut", &pem[..80])
        .put("dash", &[&pem[..26], &pem[27..]].concat())
        .put("bad", b"abc")
        .put_sparse("long", 4 << 30);
    for (name, at) in [("magic", 3), ("number", 4), ("sum", 63)] {
        let mut changed = offer.clone();
        changed[at] ^= 1;
        place.put(name, &changed);
    }
    for (words, code, sentence) in [
        ("number --key signer-public.pem", 1, "number: is not signed with a key that was given"),
        ("sum --key signer-public.pem", 1, "sum: is not signed with a key that was given"),
        ("sound.offer --key other-public.pem", 1, "sound.offer: is not signed with a key that was given"),
        ("gone --key signer-public.pem", 2, "gone: cannot be read: no such file or directory"),
    ] {
        place.refuses(&format!("verify m {words}"), code, sentence);
    }
    for offer in ["magic", "127", "129"] {
        let sentence = format!("{offer}: is no offer of 128 bytes that begins with \"stm1\"");
        place.refuses(&format!("verify m {offer} --key signer-public.pem"), 2, &sentence);
    }
    for key in ["signer-public.pem", "encrypted.pem", "rsa.pem", "cut", "dash", "m"] {
        let sentence = format!("{key}: is no unencrypted \"PRIVATE KEY\" in PEM for Ed25519");
        place.refuses(&format!("sign m -o out --device lamp --counter 7 --key {key}"), 2, &sentence);
    }
    let sentence = "signer.pem: is no \"PUBLIC KEY\" in PEM for Ed25519";
    place.refuses("verify m sound.offer --key signer.pem", 2, sentence);
    let long = "long: has 4,294,967,375 bytes, but a device takes fewer than 4,294,967,296";
    let is_input = "signer.pem: is an input; choose another output file";
    for (words, code, sentence) in [
        (&*format!("{SIGN} long -o out --device lamp"), 2, long),
        (&format!("{SIGN} m -o signer.pem --device lamp --force"), 2, is_input),
        (&format!("{SIGN} m -o out --device 0123456789abcdefg"), 2, "1 to 16 bytes are possible, not 17"),
        (&format!("{SIGN} m -o out --device="), 2, "1 to 16 bytes are possible, not 0"),
        ("delta m long -o out", 2, long),
        ("delta bad m -o out", 1, "bad: error[container.short]"),
        ("delta - - -o out", 2, "`-` is given twice"),
    ] {
        place.run(words.split(' ')).fails(code, sentence);
    }
    assert!(!place.path("out").exists());
}
