//! `safetensors flash` without a probe. Unit tests cover the use of the probe with a simulated chip.
#![cfg(feature = "chips")]

use crate::support::{Place, file, sound, sum, tensor};

/// A model of 70,000 bytes whose neighbouring bytes differ.
fn model() -> Vec<u8> {
    let data = 70_000 - 8 - 96;
    let header = format!("{{{}}}", tensor("a", 0, data));
    let bytes: Vec<u8> = (0..data).map(|index| u8::try_from(index % 251).expect("small")).collect();
    file(format!("{header:<96}"), &bytes)
}

fn place() -> Place {
    let place = Place::new();
    place.put("m", &model());
    place
}

/// The model, padded to write units with the value of erased flash.
fn image(unit: usize) -> Vec<u8> {
    let mut image = model();
    image.resize(image.len().next_multiple_of(unit), 0xff);
    image
}

#[test]
fn a_dry_run_shows_the_plan() {
    let place = place();
    let stm32 = "\
erase 1 page of 16 KiB at 0x0800c000..0x08010000
erase 1 page of 64 KiB at 0x08010000..0x08020000
program 70,656 bytes at 0x0800c000..0x0801d400, in 69 writes of 1 KiB
  the last 656 of these are 0xff, the value of erased flash
  11,264 bytes after them, at 0x0801d400..0x08020000, stay erased; use --keep to keep them
";
    let pages = |from: &str, to: &str| {
        format!(
            "erase 18 pages of 4 KiB at {from}..{to}\nprogram 73,728 bytes at {from}..{to}, in 18 writes of 4 KiB\n  \
             the last 3,728 of these are 0xff, the value of erased flash\n"
        )
    };
    for (chip, at, unit, plan) in [
        ("STM32F411RETx", "0x0800c000", 1024, stm32.to_owned()),
        ("nRF52840_xxAA", "0xe0000", 4096, pages("0x000e0000", "0x000f2000")),
        ("RP2040", "0x10100000", 4096, pages("0x10100000", "0x10112000")),
    ] {
        let digest = sum(&image(unit));
        let out = format!(
            "{plan}read everything back, compare, and start the firmware\nsha256 of the programmed bytes: \
             {digest}\n"
        );
        place.run(["flash", "--chip", chip, "--at", at, "--dry-run", "m"]).is(0, &out, "");
    }
    let kept =
        place.run(["flash", "--chip", "STM32F411RE", "--at", "0x0800c000", "--dry-run", "--keep", "m"]);
    assert!(kept.out.contains("at 0x0801d400..0x08020000, are kept\n"), "{}", kept.out);
}

#[test]
fn erased_flash_differs_between_chips() {
    let run = place().run(["flash", "--chip", "HK32F030MD4P6", "--at", "0x08000000", "--dry-run", "m"]);
    assert!(run.code == Some(1) && run.err.contains("does not fit"), "{run:?}");
    let place = Place::new();
    place.put("s", &sound());
    place.run(["flash", "--chip", "HK32F030MD4P6", "--at", "0x08000000", "-o", "s.bin", "s"]);
    let image = place.read("s.bin");
    assert_eq!(image[sound().len()..], vec![0xaa; image.len() - sound().len()]);
}

#[test]
fn a_missing_probe_is_one_sentence() {
    let place = place();
    let args = ["flash", "--chip", "RP2040", "--at", "0x10100000", "--probe", "ffff:fffe", "m"];
    let run = place.run(args);
    run.fails(2, "safetensors: no probe ffff:fffe; connect a ");
    assert!(["udev", "--output", "USB probe"].iter().all(|needed| run.err.contains(needed)), "{run:?}");
    assert_eq!(run.err.lines().count(), 1);
    assert_eq!(place.run(args.iter().chain(&["--json"])).json()["error"], "probe");
}

#[test]
fn a_raw_image_is_the_padded_model() {
    let place = place();
    let args = ["flash", "--chip", "STM32F411RETx", "--at", "0x0800c000", "-o", "m.bin", "m"];
    let digest = sum(&image(1024));
    let line = format!("m.bin: 70,656 bytes for 0x0800c000..0x0801d400, sha256 {digest}\n");
    place.run(args).is(0, &line, "");
    assert_eq!(place.read("m.bin"), image(1024));
    let piped =
        place.command(["flash", "--chip", "STM32F411RETx", "--at", "0x0800c000", "-o", "-", "m"]).output();
    assert_eq!(piped.expect("it runs").stdout, image(1024));
}

#[test]
fn an_image_in_intel_hex_reads_back() {
    let place = place();
    assert_eq!(
        place.run(["flash", "--chip", "STM32F411RETx", "--at", "0x0800c000", "-o", "m.hex", "m"]).code,
        Some(0)
    );
    let text = std::fs::read_to_string(place.path("m.hex")).expect("text");
    let (mut high, mut next, mut bytes, mut ended) = (0, None, Vec::new(), false);
    for line in text.lines() {
        let digits = line.strip_prefix(':').expect("a record").as_bytes();
        let hex =
            |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex");
        let record: Vec<u8> = digits.chunks(2).map(hex).collect();
        assert_eq!(record.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0, "{line}");
        let (head, data) = (&record[..4], &record[4..record.len() - 1]);
        assert_eq!(usize::from(head[0]), data.len());
        let low = u32::from(head[1]) << 8 | u32::from(head[2]);
        match head[3] {
            4 => high = u32::from(data[0]) << 24 | u32::from(data[1]) << 16,
            0 => {
                assert_eq!(*next.get_or_insert(0x0800_c000), high | low);
                next = Some((high | low) + u32::from(head[0]));
                bytes.extend_from_slice(data);
            }
            1 => ended = true,
            kind => panic!("kind {kind}"),
        }
    }
    assert!(ended && bytes == image(1024));
}

#[test]
fn an_image_in_uf2_reads_back() {
    let place = place();
    for (chip, family) in [("RP2040", 0xe48b_ff56_u32), ("RP235x", 0xe48b_ff57)] {
        let args = ["flash", "--chip", chip, "--at", "0x10100000", "--force", "-o", "m.uf2", "m"];
        assert_eq!(place.run(args).code, Some(0));
        let file = place.read("m.uf2");
        let image = image(4096);
        assert_eq!(file.len(), image.len() * 2);
        for (number, (block, data)) in (0_u32..).zip(file.chunks(512).zip(image.chunks(256))) {
            let words: Vec<u32> = block[..32]
                .chunks(4)
                .map(|word| u32::from_le_bytes(word.try_into().expect("four")))
                .collect();
            let address = 0x1010_0000 + number * 256;
            let blocks = u32::try_from(image.len() / 256).expect("few");
            assert_eq!(words, [0x0a32_4655, 0x9e5d_5157, 0x2000, address, 256, number, blocks, family]);
            assert_eq!(block[32..288], *data);
            assert_eq!(block[508..], 0x0ab1_6f30_u32.to_le_bytes());
        }
    }
    let args = ["flash", "--chip", "nRF52840_xxAA", "--at", "0xe0000", "-o", "no.uf2", "m"];
    let only = "no.uf2: UF2 works with RP2040 and RP235x only; write a .bin or .hex for nRF52840_xxAA\n";
    place.run(args).is(2, "", only);
    assert!(!place.path("no.uf2").exists());
}

#[test]
fn bad_usage_is_one_sentence() {
    let place = place();
    for (code, args, line) in [
        // Places and chips are those of `fit`.
        (
            2,
            "--chip RP2040 --at 0x20000000 m",
            "safetensors: 0x20000000 is outside of the flash of RP2040 at 0x10000000..0x18000000",
        ),
        (
            1,
            "--chip RP2040 --flash-size 1M --at 0x100f0000 m",
            "m: does not fit: 70,000 bytes at 0x100f0000 end 4,464 bytes past the end of flash at 0x10100000",
        ),
        (
            1,
            "--chip RP2040 --used 2M --at 0x10100000 m",
            "m: does not fit: its pages 0x10100000..0x10112000 overlap 73,728 bytes of the firmware at \
             0x10000000..0x10200000",
        ),
        (2, "--chip RP2o40 --at 0x10100000 m", "safetensors: unknown chip \"RP2o40\"; did you mean RP2040?"),
        (2, "--chip RP2040 --at 0x10100000 -o . m", ".: is a directory, not a file"),
    ] {
        place.refuses(&format!("flash {args}"), code, line);
    }
    let unit = "flash --chip EFR32MG24A010F1024IM40 --at 0x08000000 m";
    place.run(unit.split(' ')).fails(2, "could erase data beside the model");
    for words in ["--chip RP2040 m", "--at 0 m", "--chip RP2040 --at 0"] {
        assert_eq!(place.run(format!("flash {words}").split(' ')).code, Some(2), "{words:?}");
    }
}

#[test]
fn the_firmware_models_have_valid_addresses() {
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../firmware/app/models");
    for words in [
        "--chip STM32F405RGTx --at 0x08040000 MODELS/digits-f16.safetensors",
        "--chip RP2040 --at 0x10100000 MODELS/digits-i8.safetensors",
        "--chip nRF52840_xxAA --at 0x40000 MODELS/digits-f16.safetensors",
    ] {
        Place::new().done(format!("flash --dry-run {}", words.replace("MODELS", models)).split(' '));
    }
}
