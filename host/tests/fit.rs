//! `safetensors fit`: free places for models in chips.
#![cfg(feature = "chips")]

use crate::support::{self, Place, file, sound, tensor};
use serde_json::Value;

/// A model of this total length with one tensor.
fn model(bytes: u64) -> Vec<u8> {
    let data = bytes - 8 - 96;
    let mut header = format!("{{{}}}", tensor("a", 0, data));
    header += &" ".repeat(96 - header.len());
    file(header, &vec![b'x'; usize::try_from(data).expect("it is small")])
}

/// Firmware with these segments.
fn elf(segments: &[(u32, u32)]) -> Vec<u8> {
    let mut elf = vec![0; 52];
    elf[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', 1, 1, 1]);
    elf[28..32].copy_from_slice(&52_u32.to_le_bytes());
    elf[42..44].copy_from_slice(&32_u16.to_le_bytes());
    elf[44..46].copy_from_slice(&u16::try_from(segments.len()).expect("few").to_le_bytes());
    for (start, end) in segments {
        for word in [1, 0, *start, *start, end - start, 0, 5, 4] {
            elf.extend(word.to_le_bytes());
        }
    }
    elf
}

fn place() -> Place {
    let place = Place::new();
    place.put("m", &model(58_224)).put("big", &model(600_000));
    place.put("fw.elf", &elf(&[(0x0800_0000, 0x0800_9000), (0x2000_0000, 0x2000_0010)]));
    place.put("nrf.elf", &elf(&[(0, 0x10_0001)]));
    place
}

/// The first line, without "fits: 58,224 bytes at ".
fn fits(place: &Place, args: &[&str]) -> String {
    let run = place.run([&["fit"], args, &["m"]].concat());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{args:?}");
    let line = run.out.lines().next().expect("a line");
    line.strip_prefix("fits: 58,224 bytes at ").expect("it fits").to_owned()
}

#[test]
fn a_place_is_found_in_each_chip() {
    let place = place();
    for (args, answer) in [
        (
            &["--chip", "nRF52840_xxAA"][..],
            "0x000f1000..0x000ff370 (15 pages of 4 KiB); 964 KiB of flash free below",
        ),
        (
            &["--chip", "STM32F411RETx"],
            "0x08060000..0x0806e370 (1 page of 128 KiB); 384 KiB of flash free below",
        ),
        (
            &["--chip", "STM32F411RETx", "--at", "0x0800c000"],
            "0x0800c000..0x0801a370 (1 page of 16 KiB and 1 page of 64 KiB); 48 KiB of flash free below",
        ),
        (
            &["--chip", "RP2040", "--flash-size", "2M"],
            "0x101f1000..0x101ff370 (15 pages of 4 KiB); 1,988 KiB of flash free below",
        ),
        (
            &["--chip", "RP2040", "--at", "0x10100000"],
            "0x10100000..0x1010e370 (15 pages of 4 KiB); 1 MiB of flash free below",
        ),
        (
            &["--chip", "stm32f411retx", "--firmware", "fw.elf"],
            "0x08060000..0x0806e370 (1 page of 128 KiB); 336 KiB of flash free between it and used flash \
             below",
        ),
        (
            &["--chip", "STM32F411RETx", "--used", "100K", "--used", "0x0807f000..0x08080000"],
            "0x08040000..0x0804e370 (1 page of 128 KiB); 128 KiB of flash free between it and used flash \
             below",
        ),
        (
            &["--chip", "STM32F411RETx", "--at", "0x08010000", "--used", "64K"],
            "0x08010000..0x0801e370 (1 page of 64 KiB); no free flash below",
        ),
    ] {
        assert_eq!(fits(&place, args), answer, "{args:?}");
    }
}

#[test]
fn the_answer_covers_pages_alignment_and_memory() {
    let place = place();
    let run = place.run(["fit", "--chip", "RP2040", "--at", "0x10100000", "m"]);
    let lines: Vec<&str> = run.out.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "  3,216 bytes of its last page unused",
            "  the external flash must have at least 1,084 KiB",
            "  all tensors aligned: a `View` gives their elements in place",
            "  an index, if used, takes 64 bytes of 264 KiB of RAM",
        ]
    );
}

#[test]
fn misaligned_tensors_are_reported_with_a_remedy() {
    let place = Place::new();
    let floats = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F64","shape":[1],"data_offsets":[4,12]}}"#;
    let sixteens = r#"{"a":{"dtype":"U8","shape":[16],"data_offsets":[0,16]},"b":{"dtype":"U8","shape":[32],"data_offsets":[16,48]}}"#;
    let bytes = format!("{{{},{}}}", tensor("a", 0, 3), tensor("b", 3, 7));
    let put = |name: &str, header: &str, bytes: &[u8]| {
        place.put(name, &file(header, bytes));
    };
    put("odd", &format!("{floats}{}", " ".repeat(125 - floats.len())), &[0; 12]);
    put("even", &format!("{floats}{}", " ".repeat(128 - floats.len())), &[0; 12]);
    put("sixteens", &format!("{sixteens:<128}"), &[0; 48]);
    put("bytes", &format!("{bytes:<128}"), &[0; 7]);
    for (align, model, said, remedy) in [
        (None, "odd", "2 of 2 tensors misaligned: \"a\" is at 0x000ff085, not a multiple of 4", ""),
        (None, "even", "1 of 2 tensors misaligned: \"b\" is at 0x000ff08c, not a multiple of 8", ""),
        (
            Some("16"),
            "sixteens",
            "2 of 2 tensors misaligned: \"a\" is at 0x000ff088, not a multiple of 16",
            " --align 16",
        ),
        (
            Some("16"),
            "even",
            "2 of 2 tensors misaligned: \"a\" is at 0x000ff088, not a multiple of 16",
            " --align 16 --align-all",
        ),
        (
            Some("4"),
            "bytes",
            "1 of 2 tensors misaligned: \"b\" is at 0x000ff08b, not a multiple of 4",
            " --align 8 --align-all",
        ),
    ] {
        let fit = |model| {
            let align = align.map(|align| ["--align", align]);
            let run = place.run(
                ["fit", "--chip", "nRF52840_xxAA", model].into_iter().chain(align.into_iter().flatten()),
            );
            (
                run.code,
                run.out.lines().find(|line| line.contains("aligned")).expect("a line").trim().to_owned(),
            )
        };
        let code = Some(i32::from(align.is_some()));
        assert_eq!(fit(model), (code, format!("{said}; `safetensors pack{remedy}` aligns them all")));
        let pack = ["pack", model, "--force", "-o", "packed"].into_iter().chain(remedy.split_whitespace());
        assert_eq!(place.run(pack).code, Some(0));
        let aligned = "all tensors aligned: a `View` gives their elements in place";
        assert_eq!(fit("packed"), (Some(0), aligned.to_owned()), "{model} with{remedy}");
    }
    let run = place.run(["fit", "--chip", "nRF52840_xxAA", "--align", "64K", "even"]);
    assert!(run.out.contains(" at 0x000f0000..0x000f0094 (1 page of 4 KiB); 960 KiB"), "{}", run.out);
}

#[test]
fn an_index_larger_than_ram_is_reported() {
    let place = Place::new();
    let tensors: Vec<String> = (0..100).map(|index| tensor(&index.to_string(), index, index + 1)).collect();
    place.put("many", &file(format!("{{{}}}", tensors.join(",")), &[0; 100]));
    let run = place.run(["fit", "--chip", "STM32F030F4", "many"]);
    let line = "index too large: 5,792 bytes needed, 4 KiB of RAM available; open the model without an index";
    assert_eq!(run.out.lines().last().map(str::trim), Some(line), "{run:?}");
}

#[test]
fn several_models_are_placed_side_by_side() {
    let place = place();
    let firsts = |args: &[&str]| {
        let run = place.run([&["fit", "--chip", "nRF52840_xxAA", "--json"], args].concat());
        let answers = run.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        (run.code, answers.map(|answer| answer["pages_start"].as_u64()).collect::<Vec<_>>())
    };
    assert_eq!(firsts(&["m", "m"]), (Some(0), vec![Some(0xf1000), Some(0xe2000)]));
    assert_eq!(firsts(&["--at", "0x1000", "m", "m"]), (Some(0), vec![Some(0x1000), Some(0x10000)]));
    assert_eq!(firsts(&["big", "m", "big"]), (Some(1), vec![Some(0x6d000), Some(0x5e000), None]));
}

#[test]
fn json_has_the_same_answer() {
    let run = place().run(["fit", "--chip", "STM32F411RETx", "--at", "0x0800c000", "--json", "m"]);
    let expected = serde_json::json!({
        "file": "m", "ok": true, "fits": true, "chip": "STM32F411RETx", "bytes": 58224,
        "address": 0x0800_c000, "end": 0x0801_a370, "pages_start": 0x0800_c000, "pages_end": 0x0802_0000,
        "pages": [{"count": 1, "bytes": 16384}, {"count": 1, "bytes": 65536}],
        "unused": 0x5c90, "free_below": 49152, "tensors": 1, "misaligned": 0, "index_bytes": 64,
         "ram_bytes": 131_072,
    });
    assert_eq!(serde_json::from_str::<Value>(&run.out).expect("JSON"), expected);
}

#[test]
fn missing_space_is_reported_with_numbers() {
    let place = place();
    for (args, sentence) in [
        (
            &["--chip", "STM32F411RETx", "big"][..],
            "600,000 bytes needed, 75,712 more than the largest free range: 524,288 bytes at \
             0x08000000..0x08080000",
        ),
        (
            &["--chip", "STM32F411RETx", "--at", "0x08060000", "big"],
            "600,000 bytes at 0x08060000 end 468,928 bytes past the end of flash at 0x08080000",
        ),
        (
            &["--chip", "STM32F411RETx", "--firmware", "fw.elf", "--at", "0x08008000", "m"],
            "its pages 0x08008000..0x08020000 overlap 4,096 bytes of the firmware at 0x08000000..0x08009000",
        ),
        (
            &["--chip", "nRF52840_xxAA", "--firmware", "nrf.elf", "m"],
            "58,224 bytes needed, no page of flash is free",
        ),
    ] {
        place.run([&["fit"], args].concat()).is(1, &format!("does not fit: {sentence}\n"), "");
        let run = place.run([&["fit", "--json"], args].concat());
        let answer: Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!((run.code, &answer["ok"], &answer["fits"]), (Some(1), &true.into(), &false.into()));
        assert_eq!(answer["message"], sentence);
        assert!(answer["missing"].as_u64().expect("a number") > 0);
    }
}

#[test]
fn bad_usage_is_one_sentence() {
    let place = place();
    place
        .put("no.elf", b"#!/bin/sh\n")
        .put("cut.elf", &elf(&[(0, 9)])[..70])
        .put("far.elf", &elf(&[(0x100, 0x200)]));
    let window = "RP2040 has external flash in a window of 128 MiB; give its size with --flash-size (such as \
                  2M), or the address of the model with --at";
    for (args, about, sentence) in [
        (
            &["--chip", "nRF52480_xxAA", "m"][..],
            "",
            "unknown chip \"nRF52480_xxAA\"; did you mean nRF52840_xxAA or nRF52805_xxAA or nRF52810_xxAA?",
        ),
        (&["--chip", "zzz", "m"], "", "unknown chip \"zzz\"; `safetensors fit --list` lists all"),
        (
            &["--chip", "STM32F411RE", "--at", "0x20000000", "m"],
            "",
            "0x20000000 is outside of the flash of STM32F411RE at 0x08000000..0x08080000",
        ),
        (
            &["--chip", "nRF52840_xxAA", "--at", "0x10001000", "m"],
            "",
            "0x10001000 is in a memory region of nRF52840_xxAA that is not for data; flash is at \
             0x00000000..0x00100000",
        ),
        (
            &["--chip", "nRF52840_xxAA", "--at", "4097", "m"],
            "",
            "0x00001001 is not the start of a page; 0x00001000 and 0x00002000 are",
        ),
        (&["--chip", "RP2040", "m"], "", window),
        (&["--chip", "RP2040", "--flash-size", "200M", "m"], "", "--flash-size: RP2040 has at most 128 MiB"),
        (&["--chip", "nRF52840_xxAA", "--firmware", "no.elf", "m"], "no.elf", "not an ELF file"),
        (&["--chip", "nRF52840_xxAA", "--firmware", "cut.elf", "m"], "cut.elf", "truncated ELF file"),
        (
            &["--chip", "RP2040", "--at", "0x10100000", "--firmware", "far.elf", "m"],
            "far.elf",
            "has no segments in the flash of RP2040 at 0x10000000..0x18000000",
        ),
        (
            &["--chip", "nRF52840_xxAA", "--firmware", "none.elf", "m"],
            "none.elf",
            "cannot be read: no such file or directory",
        ),
        (&["--chip", "nRF52840_xxAA", "none"], "none", "cannot be read: no such file or directory"),
        (
            &["--chip", "nRF52840_xxAA", "-", "-"],
            "",
            "standard input can be read only once; `-` is given twice",
        ),
        (&["--list", "zzz"], "", "no chip name contains \"zzz\""),
    ] {
        let about = if about.is_empty() { "safetensors" } else { about };
        place.run([&["fit"], args].concat()).is(2, "", &format!("{about}: {sentence}\n"));
    }
}

#[test]
fn invalid_numbers_are_bad_usage() {
    let place = place();
    for (option, value, sentence) in [
        ("--at", "here", "not an address; write it like 0x08060000"),
        ("--used", "much", "not a size; write it like 4096, 64K or 2M"),
        ("--used", "0x20..0x10", "the range ends before it begins"),
        ("--flash-size", "2G", "not a size; write it like 4096, 64K or 2M"),
        ("--align", "24", "not a power of two"),
    ] {
        let run = place.run(["fit", "--chip", "nRF52840_xxAA", option, value, "m"]);
        assert!(run.code == Some(2) && run.err.contains(sentence), "{option} {value}: {}", run.err);
    }
}

#[test]
fn an_ambiguous_name_lists_chips() {
    let place = place();
    let run = place.run(["fit", "--chip", "STM32F411", "m"]);
    let begins = "safetensors: chip name \"STM32F411\" is ambiguous, 16 match: STM32F411CC, STM32F411CCUx, ";
    assert!(run.code == Some(2) && run.err.starts_with(begins) && run.err.ends_with(", …\n"), "{}", run.err);
}

#[test]
fn a_name_with_an_x_can_be_ambiguous() {
    let run = place().run(["fit", "--chip", "nRF52xxx_xxAA", "m"]);
    assert!(run.code == Some(2) && run.err.contains("nRF52832_xxAA"), "{}", run.err);
    assert_eq!(place().run(["fit", "--chip", "nrf52840_XXaa", "m"]).code, Some(0));
}

#[test]
fn external_flash_can_be_large() {
    let run = place().run(["fit", "--chip", "RP2040", "--flash-size", "32M", "m"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    assert!(run.out.contains("at 0x11ff1000"), "{}", run.out);
}

#[test]
fn nothing_fits_after_a_model_at_the_end_of_flash() {
    let place = place();
    place.put("full", &model(128 << 10));
    let args = ["fit", "--chip", "STM32F411RETx", "--at", "0x08060000", "full", "m"];
    let run = place.run(args);
    let line = "no flash left after the previous model";
    assert!(
        run.code == Some(1) && run.out.contains("m: does not fit: ") && run.out.contains(line),
        "{run:?}"
    );
    let json = place.run(args.into_iter().chain(["--json"])).out;
    let second: Value = serde_json::from_str(json.lines().nth(1).expect("two models")).expect("JSON");
    assert_eq!((&second["file"], &second["fits"]), (&"m".into(), &false.into()));
}

#[test]
fn a_misaligned_address_has_no_remedy() {
    let run = place().run(["fit", "--chip", "nRF52840_xxAA", "--at", "0x1000", "--align", "8192", "m"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.out.contains("own address is not a multiple") && !run.out.contains("pack"), "{}", run.out);
}

#[test]
fn chips_are_listed() {
    let place = Place::new();
    for json in [&[][..], &["--json"]] {
        assert_eq!(place.run([&["fit", "--list", "zzz"], json].concat()).code, Some(2));
    }
    place.run(["fit", "--list", "NRF5284"]).is(0, "nRF52840_xxAA\n", "");
    let all = place.run(["fit", "--list"]).out;
    for name in ["STM32F411RETx", "nRF52840_xxAA", "RP2040"] {
        assert!(all.lines().any(|line| line == name), "{name}");
    }
    let json = place.run(["fit", "--list", "rp2040", "--json"]).out;
    let chips: Value = serde_json::from_str(&json).expect("JSON");
    assert!(chips["chips"].as_array().expect("a list").contains(&"RP2040".into()));
}

#[test]
fn an_invalid_model_is_reported_as_by_check() {
    let place = place();
    let mut cut = sound();
    cut.pop();
    place.put("cut", &cut);
    let (fit, check) =
        (place.run(["fit", "--chip", "RP2040", "--at", "0x10100000", "cut"]), place.run(["check", "cut"]));
    assert_eq!((fit.code, fit.err), (Some(1), check.out));
    let run = place.run(["fit", "--chip", "nRF52840_xxAA", "--json", "cut", "m"]);
    assert_eq!((run.code, run.out.lines().count()), (Some(1), 2), "the other is answered: {}", run.out);
    assert_eq!(place.run_piped(["fit", "--chip", "nRF52840_xxAA", "-"], &sound()).code, Some(0));
}

#[cfg(unix)]
#[test]
fn a_firmware_pipe_does_not_block() {
    let place = Place::new();
    place.put("sound", &support::sound());
    let made = std::process::Command::new("mkfifo").arg(place.path("fifo")).status().expect("mkfifo");
    assert!(made.success());
    let run = place.run(["fit", "--chip", "nRF52840_xxAA", "--firmware", "fifo", "sound"]);
    run.is(2, "", "fifo: cannot be read: not a regular file\n");
}
