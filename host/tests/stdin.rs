//! The same verdict, bytes and messages for files, pipes and standard input.
#![cfg(unix)]

use crate::support::{Place, file, finish, sound, tensor};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::Stdio;

/// One file for every possible end of a stream.
fn files() -> Vec<Vec<u8>> {
    let reversed = format!("{{{},{}}}", tensor("b", 2, 5), tensor("a", 0, 2));
    let twice = format!("{{{},{}}}", tensor("a", 0, 2), tensor("a", 2, 5));
    vec![
        sound(),
        sound()[..50].to_vec(),
        [sound(), vec![0; 200_000]].concat(),
        file(&reversed, b"12345"),
        file(&reversed, b"1234"),
        file(twice, b"12345"),
        file(format!("{}{{}}", " ".repeat(200_000)), b""),
        file(format!("{}!", " ".repeat(200_000)), b""),
        file(format!("{{{}}}", tensor("big", 0, 300_000)), &vec![7; 300_000]),
        u64::MAX.to_le_bytes().to_vec(),
    ]
}

#[test]
fn all_inputs_give_the_same_answer() {
    let place = Place::new();
    for contents in files() {
        place.put("m", &contents);
        let opened = || File::open(place.path("m")).expect("the file");
        for flags in [&["check"][..], &["check", "--json"], &["decode"]] {
            let through = |name: &'static str| flags.iter().copied().chain([name]);
            let mut direct = place.run(through("m"));
            direct.out = direct.out.replacen("m: ", "-: ", 1).replacen("\"file\":\"m\"", "\"file\":\"-\"", 1);
            direct.err = direct.err.replacen("m: ", "-: ", 1);
            assert_eq!(place.run_redirected(through("-"), opened()), direct);
            // Of a pipe, not all bytes that are too many are read.
            for text in [&mut direct.out, &mut direct.err] {
                *text = text.replace("continues for 200,000 bytes", "continues");
            }
            assert_eq!(place.run_piped(through("-"), &contents), direct);
        }
    }
}

#[test]
fn a_partly_read_file_continues_from_there() {
    let place = Place::new();
    place.put("m", &[b"preface", &sound()[..]].concat());
    let mut input = File::open(place.path("m")).expect("the file");
    input.seek(SeekFrom::Start(7)).expect("a seek");
    place.run_redirected(["check", "-"], input).is(0, "-: ok, 2 tensors, 118 bytes\n", "");
}

/// A directory, and a file that is open for writing only.
#[test]
fn what_cannot_be_read_is_an_error() {
    let place = Place::new();
    let (output, directory) = (File::create(place.path("out")), File::open(place.path(".")));
    for (input, why) in [(directory, "is a directory"), (output, "bad file descriptor")] {
        let run = place.run_redirected(["check", "-"], input.expect("it opens"));
        run.is(2, "", &format!("-: cannot be read: {why}\n"));
    }
}

#[test]
fn no_more_is_read_than_the_verdict_needs() {
    let place = Place::new();
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let sound_len = sound().len();
    let writing = std::thread::spawn(move || {
        use std::io::Write;
        writer.write_all(&[sound(), vec![b'x'; 10]].concat()).expect("it fits into the pipe");
        // The pipe stays open: a reader that waits for its end hangs.
        writer
    });
    let mut left = reader.try_clone().expect("a second reader");
    let run = finish(place.command(["check", "-"]).stdin(Stdio::from(reader)));
    let line = "-: error[data.trailing] at byte 118: the tensors end after 5 bytes of data, but the file continues\n";
    run.is(1, line, "");
    drop(writing.join().expect("it wrote"));
    let mut rest = Vec::new();
    left.read_to_end(&mut rest).expect("what was left");
    assert_eq!((sound_len, rest.len()), (118, 9), "one byte behind the tensors is enough");
}

#[test]
fn a_long_header_needs_a_temporary_file_and_a_short_one_does_not() {
    let place = Place::new();
    let run = |contents: &[u8]| {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        std::thread::scope(|scope| {
            scope.spawn(move || std::io::Write::write_all(&mut writer, contents).is_ok());
            finish(place.command(["check", "-"]).stdin(Stdio::from(reader)).env("TMPDIR", "/nowhere"))
        })
    };
    run(&sound()).is(0, "-: ok, 2 tensors, 118 bytes\n", "");
    let no_directory =
        "-: cannot be buffered in /nowhere (set TMPDIR to another directory): no such file or directory\n";
    run(&file(format!("{}{{}}", " ".repeat(200_000)), b"")).is(2, "", no_directory);
}

/// A limit of the size of files acts like a full disk.
#[test]
fn a_stream_that_exceeds_the_disk_names_the_directory() {
    let place = Place::new();
    place.put("m", &file(format!("{{{}}}", tensor("big", 0, 300_000)), &vec![7; 300_000]));
    let script = "trap '' XFSZ; ulimit -f 256; export TMPDIR=$PWD/; cat m | \"$0\" cat - big --limit 1";
    let run = place.shell(script);
    let directory = place.path("").display().to_string();
    let expected = format!("-: cannot be buffered in {directory} (set TMPDIR to another directory): ");
    let reason = run.err.strip_prefix(&expected).unwrap_or("");
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(reason.starts_with("file too large after ") && reason.ends_with(" bytes\n"), "{run:?}");
}
