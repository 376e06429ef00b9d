//! `safetensors check` on arbitrary input: exit code 0, 1 or 2, and one clear line.
#![cfg(unix)]

use crate::support::{Place, file, sound};
#[cfg(target_os = "linux")]
use crate::support::{bytes_read, until};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::time::{Duration, Instant, SystemTime};

const SHORT: &str = "the file is too short for the 8-byte length of its header";

#[test]
fn unreadable_paths_are_errors() {
    let place = Place::new();
    symlink("nowhere", place.path("dangling")).expect("a link");
    symlink("loop", place.path("loop")).expect("a link");
    place.refuses("check dangling", 2, "dangling: cannot be read: no such file or directory");
    place.run(["check", "loop"]).fails(2, "loop: cannot be read: ");
    place.put("m", &sound());
    std::fs::set_permissions(place.path("m"), PermissionsExt::from_mode(0o000)).expect("own file");
    // The superuser may read everything.
    match File::open(place.path("m")) {
        Ok(_) => place.run(["check", "m"]).is(0, "m: ok, 2 tensors, 118 bytes\n", ""),
        Err(_) => place.refuses("check m", 2, "m: cannot be read: permission denied"),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn endless_devices_are_invalid() {
    // Gigabytes of zeros are rejected at once.
    let place = Place::new();
    File::create(place.path("zeros")).and_then(|zeros| zeros.set_len(4 << 30)).expect("a sparse file");
    let start = Instant::now();
    for name in ["/dev/zero", "zeros"] {
        let line = "at byte 8: the first 8 bytes are zeros, as in blank memory: no file was written here, or not all of it";
        place.run(["check", name]).is(1, &format!("{name}: error[json.end] {line}\n"), "");
    }
    assert!(start.elapsed() < Duration::from_secs(5));
    // By its name it is an index, which cannot be a device.
    symlink("/dev/zero", place.path("m.safetensors.index.json")).expect("a link");
    for command in [&["check"][..], &["inspect"], &["hash"], &["join", "-o", "new"]] {
        let device = "m.safetensors.index.json: it is a device, not a file";
        place.run([command, &["m.safetensors.index.json"]].concat()).fails(2, device);
    }
}

/// A file cut anywhere is invalid, and only the missing end is reported.
#[test]
fn a_file_cut_at_every_length() {
    let place = Place::new();
    let whole = sound();
    let names: Vec<String> = (0..whole.len()).map(|len| format!("m{len}")).collect();
    let mut reports = String::new();
    for (len, name) in names.iter().enumerate() {
        let cut = &whole[..len];
        let (code, text) = match len {
            0..8 => ("container.short", SHORT.to_owned()),
            8..113 => (
                "container.header-beyond-file",
                format!("the header has 105 bytes, but the file ends after {} of them", len - 8),
            ),
            _ => (
                "data.short",
                format!("the tensors need 5 bytes of data, but the file has only {}", len - 113),
            ),
        };
        let report = format!("error[{code}] at byte {len}: {text}\n");
        place.put(name, cut).run_piped(["check", "-"], cut).is(1, &format!("-: {report}"), "");
        reports += &format!("{name}: {report}");
    }
    reports += &format!("/dev/null: error[container.short] at byte 0: {SHORT}\n");
    let check = ["check".to_owned()].into_iter().chain(names).chain(["/dev/null".to_owned()]);
    place.run(check).is(1, &reports, "");
}

/// A header whose length is cut to the rest shows where its text ends.
#[test]
fn a_header_cut_at_every_length() {
    let place = Place::new();
    let header = &sound()[8..113];
    for len in 0..header.len() {
        place.put("m", &file(&header[..len], b""));
        let run = place.run(["check", "m"]);
        let end = format!("m: error[json.end] at byte {}: ", 8 + len);
        assert!(run.code == Some(1) && run.err.is_empty() && run.out.starts_with(&end), "{run:?}");
        let piped = place.run_piped(["check", "-"], &file(&header[..len], b""));
        assert_eq!(piped.out.strip_prefix('-'), run.out.strip_prefix('m'));
    }
}

fn fifo(place: &Place, name: &str) -> std::path::PathBuf {
    assert_eq!(place.shell(&format!("mkfifo {name}")).code, Some(0));
    place.path(name)
}

#[test]
fn a_pipe_without_a_writer_does_not_block() {
    let place = Place::new();
    fifo(&place, "pipe");
    let start = Instant::now();
    place.run(["check", "pipe"]).is(2, "", "pipe: cannot be read: nothing writes to this pipe\n");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_slow_pipe_is_read_to_its_end() {
    let place = Place::new();
    let path = fifo(&place, "pipe");
    let writer = std::thread::spawn(move || {
        let mut pipe = File::create(path).expect("the other end");
        for piece in sound().chunks(40) {
            std::thread::sleep(Duration::from_millis(600));
            pipe.write_all(piece).expect("a reader");
        }
    });
    place.run(["check", "pipe"]).is(0, "pipe: ok, 2 tensors, 118 bytes\n", "");
    writer.join().expect("it wrote");
}

/// A valid file that takes a while: millions of values to skip.
fn slow(place: &Place) {
    let value = "[0],".repeat(10_000_000);
    let header = format!(r#"{{"a":{{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":[{value}0]}}}}"#);
    place.put("m", &file(header, b""));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_changes_while_read_is_an_error() {
    type Change = fn(&File) -> std::io::Result<()>;
    let changes: [Change; 4] = [
        |file| file.set_len(1 << 20),
        |file| file.set_len(4),
        |file| file.write_all_at(b"more", file.metadata()?.len()),
        |file| file.write_all_at(b"}", 5000),
    ];
    for change in changes {
        let place = Place::new();
        slow(&place);
        let path = place.path("m").canonicalize().expect("a path");
        let writable = OpenOptions::new().write(true).open(&path).expect("a file");
        // A coarse clock must not hide the change.
        writable.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("own file");
        let child = place.command(["check", "m"]).spawn().expect("the binary runs");
        // More than libraries and settings have.
        until("a read of the file", || bytes_read(&child) > Some(1 << 20));
        change(&writable).expect("it can be changed");
        let output = child.wait_with_output().expect("the binary ends");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(output.stdout, b"");
        assert_eq!(output.stderr, b"m: cannot be read: the file changed while it was being read\n");
    }
}
