//! `safetensors fit`: free places for models in chips.
#![cfg(feature = "chips")]

use crate::support::{Place, file, many, sound, tensor};
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

/// The arguments of commands, and the line below each.
fn transcript(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut lines = text.trim().lines();
    std::iter::from_fn(move || Some((lines.next()?.trim_start_matches("$ safetensors "), lines.next()?)))
}

#[test]
fn a_place_is_found_in_each_chip() {
    let place = place();
    let cases = "\
$ safetensors fit --chip nRF52840_xxAA m
0x000f1000..0x000ff370 (15 pages of 4 KiB); 964 KiB of flash free below
$ safetensors fit --chip STM32F411RETx m
0x08060000..0x0806e370 (1 page of 128 KiB); 384 KiB of flash free below
$ safetensors fit --chip STM32F411RETx --at 0x0800c000 m
0x0800c000..0x0801a370 (1 page of 16 KiB and 1 page of 64 KiB); 48 KiB of flash free below
$ safetensors fit --chip RP2040 --flash-size 2M m
0x101f1000..0x101ff370 (15 pages of 4 KiB); 1,988 KiB of flash free below
$ safetensors fit --chip RP2040 --at 0x10100000 m
0x10100000..0x1010e370 (15 pages of 4 KiB); 1 MiB of flash free below
$ safetensors fit --chip stm32f411retx --firmware fw.elf m
0x08060000..0x0806e370 (1 page of 128 KiB); 336 KiB of flash free between it and used flash below
$ safetensors fit --chip STM32F411RETx --used 100K --used 0x0807f000..0x08080000 m
0x08040000..0x0804e370 (1 page of 128 KiB); 128 KiB of flash free between it and used flash below
$ safetensors fit --chip STM32F411RETx --at 0x08010000 --used 64K m
0x08010000..0x0801e370 (1 page of 64 KiB); no free flash below
$ safetensors fit --chip RP2040 --flash-size 32M m
0x11ff1000..0x11fff370 (15 pages of 4 KiB); 32,708 KiB of flash free below";
    for (words, answer) in transcript(cases) {
        let answer = format!("fits: 58,224 bytes at {answer}\n");
        assert!(place.done(words.split(' ')).out.starts_with(&answer), "{words}");
    }
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
    place.put("many", &many("", 100));
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
fn missing_space_is_reported_with_numbers() {
    let place = place();
    let cases = "\
--chip STM32F411RETx big
600,000 bytes needed, 75,712 more than the largest free range: 524,288 bytes at 0x08000000..0x08080000
--chip STM32F411RETx --at 0x08060000 big
600,000 bytes at 0x08060000 end 468,928 bytes past the end of flash at 0x08080000
--chip STM32F411RETx --firmware fw.elf --at 0x08008000 m
its pages 0x08008000..0x08020000 overlap 4,096 bytes of the firmware at 0x08000000..0x08009000
--chip nRF52840_xxAA --firmware nrf.elf m
58,224 bytes needed, no page of flash is free";
    for (words, sentence) in transcript(cases) {
        let run = place.run(format!("fit {words}").split(' '));
        run.is(1, &format!("does not fit: {sentence}\n"), "");
        let run = place.run(format!("fit --json {words}").split(' '));
        let answer = run.json();
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
    let refused = r#"
$ safetensors fit --chip nRF52480_xxAA m
safetensors: unknown chip "nRF52480_xxAA"; did you mean nRF52840_xxAA or nRF52805_xxAA or nRF52810_xxAA?
$ safetensors fit --chip zzz m
safetensors: unknown chip "zzz"; `safetensors fit --list` lists all
$ safetensors fit --chip STM32F411RE --at 0x20000000 m
safetensors: 0x20000000 is outside of the flash of STM32F411RE at 0x08000000..0x08080000
$ safetensors fit --chip nRF52840_xxAA --at 4097 m
safetensors: 0x00001001 is not the start of a page; 0x00001000 and 0x00002000 are
$ safetensors fit --chip RP2040 --flash-size 200M m
safetensors: --flash-size: RP2040 has at most 128 MiB
$ safetensors fit --chip nRF52840_xxAA --firmware no.elf m
no.elf: not an ELF file
$ safetensors fit --chip nRF52840_xxAA --firmware cut.elf m
cut.elf: truncated ELF file
$ safetensors fit --chip RP2040 --at 0x10100000 --firmware far.elf m
far.elf: has no segments in the flash of RP2040 at 0x10000000..0x18000000
$ safetensors fit --chip nRF52840_xxAA --firmware none.elf m
none.elf: cannot be read: no such file or directory
$ safetensors fit --chip nRF52840_xxAA none
none: cannot be read: no such file or directory
$ safetensors fit --chip nRF52840_xxAA - -
safetensors: standard input can be read only once; `-` is given twice
$ safetensors fit --list zzz
safetensors: no chip name contains "zzz"
"#;
    for (words, sentence) in transcript(refused) {
        place.refuses(words, 2, sentence);
    }
    for (option, sentence) in [
        ("--at here", "not an address; write it like 0x08060000"),
        ("--at 0x10001000", "nRF52840_xxAA that is not for data; flash is at 0x00000000..0x00100000"),
        ("--used much", "not a size; write it like 4096, 64K or 2M"),
        ("--used 0x20..0x10", "the range ends before it begins"),
        ("--flash-size 2X", "not a size; write it like 4096, 64K or 2M"),
        ("--align 24", "not a power of two"),
        ("--chip nRF52xxx_xxAA", "nRF52832_xxAA"),
        ("--chip STM32F411", "is ambiguous, 16 match: STM32F411CC, STM32F411CCUx, "),
    ] {
        let chip = if option.starts_with("--chip") { "" } else { "--chip nRF52840_xxAA " };
        place.run(format!("fit {chip}{option} m").split(' ')).fails(2, sentence);
    }
    place.done(["fit", "--chip", "nrf52840_XXaa", "m"]);
    // The model's own address is the reason, which `pack` cannot change.
    let run = place.run("fit --chip nRF52840_xxAA --at 0x1000 --align 8192 m".split(' '));
    let own = run.out.contains("own address is not a multiple") && !run.out.contains("pack");
    assert!(run.code == Some(1) && own, "{run:?}");
    assert_eq!(place.shell("mkfifo fifo").code, Some(0));
    let pipe = "fifo: cannot be read: not a regular file";
    place.refuses("fit --chip nRF52840_xxAA --firmware fifo m", 2, pipe);
    let said = place.done("fit --chip RP2040 --at 0x10100000 m".split(' ')).out;
    assert!(said.contains("\n  the external flash must have at least 1,084 KiB\n"), "{said}");
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
    let chips = place.done(["fit", "--list", "rp2040", "--json"]).json();
    assert!(chips["chips"].as_array().expect("a list").contains(&"RP2040".into()));
}

#[test]
fn an_invalid_model_does_not_stop_the_others() {
    let place = place();
    place.put("cut", &sound()[..100]);
    let run = place.run(["fit", "--chip", "nRF52840_xxAA", "--json", "cut", "m"]);
    assert_eq!((run.code, run.out.lines().count()), (Some(1), 2), "the other is answered: {}", run.out);
    assert_eq!(place.run_piped(["fit", "--chip", "nRF52840_xxAA", "-"], &sound()).code, Some(0));
}
