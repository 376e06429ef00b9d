//! The peak memory of the command, measured after its exit, and of programs that read through the library.
//!
//! The system counts the memory of the parent towards a new process. This program therefore stays smaller
//! than what it measures: it has no harness, and starts itself again to write each file.

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("peak memory is only measured on Linux");
}

#[cfg(target_os = "linux")]
fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "write", name, path] => measured::write(name, path).expect("disk space"),
        [_, "read", api, path, bytes] => measured::read(api, path, bytes),
        _ if std::env::var_os("SUITE_SHARE").is_some() => {
            println!("left out: `cargo xtask test command` runs it");
        }
        _ => measured::all(),
    }
}

#[cfg(target_os = "linux")]
#[path = "memory/measured.rs"]
mod measured;

/// Waits for a child of this process, and returns its peak memory in bytes.
#[cfg(target_os = "linux")]
mod measured {
    use crate::torch::Many;
    use safetensors_convert::zip::Archive;
    use std::fs::{self, File};
    use std::io::{self, BufWriter, Write};
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::{Command, ExitStatus, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    type Out<'o> = &'o mut dyn Write;

    const HEADER: u64 = 100_000_000;
    const TENSORS: u64 = 1_000_000;
    const RANK: u64 = 1_000_000;
    /// More than are held at once, so that several passes are needed.
    const KEYS: u64 = 3_000_000;
    const MIB: u64 = 1 << 20;
    /// Above an empty model, for any header without many names. Code that is not optimised is several times
    /// as long, and its pages count.
    const HOSTILE: u64 = if cfg!(debug_assertions) { 3 * MIB } else { 2 * MIB };
    /// Above that, with slots for as many names as are held at once.
    const MANY: u64 = 24 * MIB + HOSTILE;
    /// Their header has almost 16 MiB.
    const HELD_TENSORS: u64 = 230_000;
    /// Total, with a header in memory and its list.
    const HELD: u64 = 64 * MIB;
    /// Above that, for a tensor moved between files.
    const MOVED: u64 = 8 * MIB;
    /// Above that, for a transposed array.
    const TURNED: u64 = 52 * MIB;
    /// So many that their memory is more than the rest, where the code is fast.
    const CONVERTED: u32 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    /// The promise of `convert`: in total, ...
    const OF_CONVERSION: u64 = 64 * MIB;
    /// ... and twice that for each tensor, with a name of at most 7 bytes.
    const OF_TENSOR: u64 = 256 + 7;
    /// The promise of a scan.
    const OF_SCAN: u64 = 64 * MIB;
    /// Above a program that does nothing, for streamed data of any length; without optimisation as above.
    const STREAMED: u64 = if cfg!(debug_assertions) { 8 * MIB } else { 2 * MIB };
    /// Of a program's own, without the code and constants mapped from its file.
    const OWN: u64 = MIB;
    const HUGE: u64 = 3 << 30;
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A header's text, written by `write`, which is called twice: to count and to write.
    struct Case {
        name: &'static str,
        exit: i32,
        data: u64,
        write: fn(Out<'_>) -> io::Result<()>,
    }

    const CASES: [Case; 7] = [
        Case { name: "many values to skip", exit: 0, data: 0, write: nested },
        Case { name: "one long name", exit: 0, data: 0, write: |out| long_names(out, &[90_000_000]) },
        Case {
            name: "one long name twice",
            exit: 1,
            data: 0,
            write: |out| long_names(out, &[20_000_000; 2]),
        },
        Case { name: "a shape of a million dimensions", exit: 0, data: 1, write: rank },
        Case { name: "deep nesting", exit: 1, data: 0, write: deep },
        Case { name: "one long metadata value", exit: 0, data: 0, write: metadata },
        Case { name: "nothing but whitespace", exit: 1, data: 0, write: |out| repeat(out, b" ", HEADER) },
    ];

    const MANY_NAMES: [Case; 3] = [
        Case { name: "many tensors in order", exit: 0, data: TENSORS, write: |out| tensors(out, 0..TENSORS) },
        Case {
            name: "many tensors in reversed order",
            exit: 0,
            data: TENSORS,
            write: |out| tensors(out, (0..TENSORS).rev()),
        },
        Case { name: "millions of metadata keys", exit: 0, data: 0, write: keys },
    ];

    pub fn all() {
        judge_headers();
        stream_files();
    }

    fn judge_headers() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let path = place.path().join("m");
        let empty = of_an_empty_model("check", place.path());
        assert!(own_peak() <= empty, "this program is too large to measure another: {}", own_peak());
        for case in &CASES {
            case.put(&path);
            case.judge(&path, empty + HOSTILE);
        }
        for case in &MANY_NAMES {
            case.put(&path);
            case.judge(&path, empty + MANY);
        }
        decode_a_long_shape(&path, of_an_empty_model("decode", place.path()));
        inspect_many_tensors(&path, empty);
        hash_many_names(&path, of_an_empty_model("hash", place.path()));
        count_all_doubles(place.path(), empty);
        move_large_tensors(place.path(), empty);
        convert_many_tensors(place.path());
        scan_large_pickles(place.path());
        assert!(own_peak() <= empty, "this program grew too large to measure another: {}", own_peak());
    }

    /// The memory of the program with all code that this command needs for any model.
    fn of_an_empty_model(command: &str, folder: &Path) -> u64 {
        let path = folder.join("empty");
        std::fs::write(&path, b"\x02\0\0\0\0\0\0\0{}").expect("disk space");
        Measured::usual(&[command, path.to_str().expect("a plain path")])
    }

    /// Only one shape is ever held, at 8 bytes per dimension.
    fn decode_a_long_shape(path: &Path, empty: u64) {
        CASES[3].put(path);
        let name = path.to_str().expect("a plain path");
        let decoded = Measured::of(&["decode", name], None, 0);
        decoded.report("decoding a million dimensions", empty + HOSTILE + 8 * RANK);
    }

    /// For a header of the maximum length that is held, and for a longer one, as text and as JSON.
    fn inspect_many_tensors(path: &Path, empty: u64) {
        let held = Case {
            name: "tensors of 16 MiB",
            exit: 0,
            data: HELD_TENSORS,
            write: |out| tensors(out, (0..HELD_TENSORS).rev()),
        };
        let dims =
            Case { name: "millions of dimensions", exit: 0, data: 1, write: |out| dims(out, 7_900_000) };
        let pairs = Case { name: "a million pairs", exit: 0, data: 0, write: |out| pairs(out, 1_000_000) };
        // JSON output holds a shape, as `decode` does.
        let shape = 16 * 7_900_000;
        for (case, limit, json) in
            [(&held, HELD, 0), (&dims, HELD, shape), (&pairs, HELD, 0), (&MANY_NAMES[0], empty + MANY, 0)]
        {
            case.put(path);
            let name = path.to_str().expect("a plain path");
            Measured::of(&["inspect", name], None, 0).report(&format!("{}, inspected", case.name), limit);
            let form = ["inspect", "--json", name];
            Measured::of(&form, None, 0).report(&format!("{}, as JSON", case.name), limit + json);
        }
    }

    /// No names and sums are held except those that the threads work on.
    fn hash_many_names(path: &Path, empty: u64) {
        let name = path.to_str().expect("a plain path");
        for (case, form) in MANY_NAMES.iter().zip([
            &["hash", "--tensors", name][..],
            &["hash", "--json", name],
            &["hash", "--tensors", name],
        ]) {
            case.put(path);
            let what = format!("{}, {}", case.name, words(form, name));
            Measured::of(form, None, 0).report(&what, empty + MANY);
        }
    }

    /// A file of a few tensors, and one of 3 GiB, validated, shown, and read to their ends: above a program
    /// that does nothing.
    fn stream_files() {
        // In memory, where sparse files are fast, if possible.
        let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
        let nothing = Measured::of_nothing();
        println!("safetensors --version: {} KiB", nothing / 1024);
        let path = place.path().join("m");
        let name = path.to_str().expect("a plain path");
        let small = Case { name: "20 KB", exit: 0, data: 200, write: |out| tensors(out, 0..200) };
        small.put(&path);
        for args in [&["check", name][..], &["inspect", name], &["hash", name]] {
            Measured::best_of(args, nothing + STREAMED).report_above(&words(args, name), small.name, nothing);
        }
        huge(&path);
        for args in [&["check", name][..], &["inspect", name]] {
            Measured::best_of(args, nothing + STREAMED).report_above(&words(args, name), "3 GiB", nothing);
        }
        for args in
            [&["hash", name][..], &["hash", "--tensors", name], &["cat", "--format", "raw", name, "a"]]
        {
            Measured::of(args, None, 0).report_own(&words(args, name), "3 GiB");
        }
    }

    /// All arguments except the file.
    fn words(args: &[&str], file: &str) -> String {
        let words: Vec<&str> = args.iter().copied().take_while(|&arg| arg != file).collect();
        words.join(" ")
    }

    /// A sparse tensor.
    fn huge(path: &Path) {
        let header = format!(r#"{{"a":{{"dtype":"U8","shape":[{HUGE}],"data_offsets":[0,{HUGE}]}}}}"#);
        let len = header.len() as u64;
        let mut file = File::create(path).expect("a file");
        let head = [&len.to_le_bytes()[..], header.as_bytes()].concat();
        file.write_all(&head)
            .and_then(|()| file.set_len(8 + len + HUGE))
            .expect("the disk takes files with holes");
    }

    /// Statistics of doubles that use every counter.
    fn count_all_doubles(folder: &Path, empty: u64) {
        const COUNTED: u64 = 40 * MIB + MOVED;
        let path = folder.join("doubles");
        let header = r#"{"a":{"dtype":"F64","shape":[4000000],"data_offsets":[0,32000000]}}"#;
        let mut out = BufWriter::new(File::create(&path).expect("a file"));
        let mut write = |bytes: &[u8]| out.write_all(bytes).expect("disk space");
        write(&(header.len() as u64).to_le_bytes());
        write(header.as_bytes());
        // The numbers of Knuth's MMIX: their upper bits are as good as random.
        let next = |number: &u64| {
            Some(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
        };
        std::iter::successors(Some(1_u64), next)
            .take(4_000_000)
            .for_each(|number| write(&number.to_le_bytes()));
        drop(out);
        let args = ["stats", path.to_str().expect("a plain path")];
        Measured::of(&args, None, 0).report("32 MB, statistics", empty + COUNTED);
    }

    /// No tensor is held in memory by any command.
    fn move_large_tensors(folder: &Path, empty: u64) {
        let path = |name: &str| folder.join(name).to_str().expect("a plain path").to_owned();
        let [rows, columns] = [2000, 3000];
        let bytes = rows * columns * 4;
        let large = Case { name: "a large tensor", exit: 0, data: bytes, write: large };
        large.put(&folder.join("m"));
        let turned = 4 * bytes;
        let shape = format!("({}, {columns})", 4 * rows);
        let header = format!("{{'descr': '>f4', 'fortran_order': True, 'shape': {shape}}}");
        let mut array = BufWriter::new(File::create(folder.join("turned.npy")).expect("a file"));
        let length = u16::try_from(header.len()).expect("short").to_le_bytes();
        let start = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes()].concat();
        array.write_all(&start).and_then(|()| repeat(&mut array, b"<@@=", turned)).expect("disk space");
        drop(array);
        for (name, bytes, limit, args) in [
            ("as an array", bytes, MOVED, &["cat", "m", "a", "-o", "a.npy"][..]),
            ("sliced", bytes, MOVED, &["slice", "m", "a=:, ::2", "-o", "part.safetensors"]),
            ("in an archive", bytes, MOVED, &["convert", "m", "a.npz", "--compress"]),
            ("out of an archive", bytes, MOVED, &["convert", "a.npz", "back.safetensors"]),
            ("cast", bytes, MOVED, &["convert", "m", "half.safetensors", "--to", "F16"]),
            (
                "quantised",
                bytes,
                MOVED,
                &["convert", "m", "i8.safetensors", "--to", "I8", "--scale", "per-row"],
            ),
            ("turned", turned, MOVED + TURNED, &["convert", "turned.npy", "turned.safetensors"]),
        ] {
            let is_file = |arg: &str| {
                arg == "m" || arg.ends_with(".npy") || arg.ends_with(".npz") || arg.ends_with(".safetensors")
            };
            let args: Vec<String> =
                args.iter().map(|arg| if is_file(arg) { path(arg) } else { (*arg).to_owned() }).collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            Measured::of(&args, None, 0).report(&format!("{} MB, {name}", bytes / 1_000_000), empty + limit);
        }
    }

    /// Each tensor takes a bounded amount of memory beside its name, in every format.
    fn convert_many_tensors(folder: &Path) {
        let path = |name: &str| folder.join(name).to_str().expect("a plain path").to_owned();
        let put = |name: &str, write: &dyn Fn(Out<'_>) -> io::Result<()>| {
            let mut out = BufWriter::new(File::create(folder.join(name)).expect("a file"));
            write(&mut out).and_then(|()| out.flush()).expect("disk space");
        };
        put("zip.pt", &|out| Many(CONVERTED).zip(out));
        put("legacy.pt", &|out| Many(CONVERTED).legacy(out));
        put("blocks.gguf", &blocks);
        for (name, args) in [
            ("of PyTorch", &["zip.pt", "m.safetensors"][..]),
            ("of PyTorch before 1.6", &["legacy.pt", "m.safetensors", "--force"]),
            ("of PyTorch, each kept", &["legacy.pt", "m.safetensors", "--force", "--ties", "copy"]),
            ("of PyTorch, not written", &["zip.pt", "n.safetensors", "--dry-run"]),
            ("of PyTorch, cast", &["zip.pt", "n.safetensors", "--to", "F16"]),
            ("of PyTorch, with JSON", &["zip.pt", "n.safetensors", "--force", "--json"]),
            ("into an archive", &["m.safetensors", "m.npz"]),
            ("out of it", &["m.npz", "m.safetensors", "--force"]),
            ("into GGUF", &["m.safetensors", "m.gguf"]),
            ("of GGUF", &["m.gguf", "m.safetensors", "--force"]),
            ("of GGUF, kept blocks", &["blocks.gguf", "b.safetensors", "--keep-blocks"]),
            ("into GGUF, kept blocks", &["b.safetensors", "b.gguf"]),
        ] {
            let arg = |arg: &&str| if arg.contains('.') { path(arg) } else { (*arg).to_owned() };
            let args: Vec<String> = args.iter().map(arg).collect();
            let args: Vec<&str> = ["convert"].into_iter().chain(args.iter().map(String::as_str)).collect();
            let limit = OF_CONVERSION + u64::from(CONVERTED) * 2 * OF_TENSOR;
            let measured = Measured::of(&args, None, 0);
            // Twenty seconds on an idle machine.
            measured.report_within(&format!("{CONVERTED} tensors, {name}"), limit, 5 * PATIENCE);
        }
    }

    /// A model in GGUF whose tensors have one block of Q8_0 each.
    fn blocks(out: Out<'_>) -> io::Result<()> {
        out.write_all(b"GGUF\x03\0\0\0")?;
        out.write_all(&u64::from(CONVERTED).to_le_bytes())?;
        out.write_all(&0_u64.to_le_bytes())?;
        let mut at = 24_u64;
        for number in 0..CONVERTED {
            let name = number.to_string();
            out.write_all(&[&(name.len() as u64).to_le_bytes(), name.as_bytes()].concat())?;
            out.write_all(
                &[1_u32.to_le_bytes(), 32_u32.to_le_bytes(), [0; 4], 8_u32.to_le_bytes()].concat(),
            )?;
            out.write_all(&(64 * u64::from(number)).to_le_bytes())?;
            at += 32 + name.len() as u64;
        }
        repeat(out, &[0], at.next_multiple_of(32) - at)?;
        repeat(out, &[0; 64], 64 * u64::from(CONVERTED))
    }

    /// Pickles with all that is remembered of one: just within all limits, and far beyond them.
    fn scan_large_pickles(folder: &Path) {
        let empty = of_an_empty_model("scan", folder);
        let path = folder.join("pickle");
        for (name, exit, items, names) in
            [("at the limits", 1, 1_048_000, 16_000), ("beyond them", 2, 2_097_000, 65_000)]
        {
            let mut out = BufWriter::new(File::create(&path).expect("a file"));
            pickle(&mut out, items, names).and_then(|()| out.flush()).expect("disk space");
            let args = ["scan", path.to_str().expect("a plain path")];
            Measured::of(&args, None, exit).report(&format!("a pickle {name}"), empty + OF_SCAN);
        }
        scan_archives(&path, empty + OF_SCAN);
    }

    /// Pickles of many names, of names that are printed in six times their length, and many entries.
    fn scan_archives(path: &Path, limit: u64) {
        let file = path.to_str().expect("a plain path");
        let names = |entry: u32, letter: u8, len: usize| {
            let most = u32::try_from(1_000_000 / len.max(60)).expect("few");
            let name = |number: u32| {
                let begin = format!("cm\n{entry}_{number}").into_bytes();
                [&begin[..], &vec![letter; len], b"\n0"].concat()
            };
            (0..most).flat_map(name).chain(*b"N.").collect::<Vec<_>>()
        };
        for (what, exit, entries, letter, len) in [
            ("many names", 2, 7, b'a', 0),
            ("names of control characters", 2, 11, 1, 300),
            ("long names", 2, 11, b'a', 60_000),
        ] {
            let out = BufWriter::new(File::create(path).expect("a file"));
            let mut archive = Archive::new(out, true);
            for entry in 0..entries {
                let write = |out: &mut dyn Write| out.write_all(&names(entry, letter, len));
                archive.add(&format!("{entry}.pkl"), write).expect("disk space");
            }
            archive.finish().and_then(|mut out| out.flush()).expect("disk space");
            for args in [&["scan", file][..], &["scan", "--json", file]] {
                let name = format!("an archive of pickles of {what}");
                // Seconds, where the code is fast.
                Measured::of(args, None, exit).report_within(&name, limit, 5 * PATIENCE);
            }
        }
        for tensors in [70_000, CONVERTED] {
            let mut out = BufWriter::new(File::create(path).expect("a file"));
            Many(tensors).zip(&mut out).and_then(|()| out.flush()).expect("disk space");
            let name = format!("{tensors} tensors of PyTorch, scanned");
            let limit = limit + u64::from(tensors) * OF_TENSOR;
            // Each entry is opened.
            Measured::of(&["scan", file], None, 0).report_within(&name, limit, 5 * PATIENCE);
        }
    }

    /// Texts, an item in each part of the memo, items on the stack, and imported names.
    fn pickle(out: Out<'_>, items: u64, names: u32) -> io::Result<()> {
        (0..90_000).try_for_each(|number| write!(out, "U\x05{number:05}0"))?;
        out.write_all(b"U\x0512345")?;
        let put = |index: u32| [&b"r"[..], &(index << 7).to_le_bytes()].concat();
        (0..524_288).try_for_each(|index| out.write_all(&put(index)))?;
        repeat(out, b"N", items)?;
        (0..names).try_for_each(|number| write!(out, "c{number:060}\n1\n0"))
    }

    fn large(out: Out<'_>) -> io::Result<()> {
        out.write_all(br#"{"a":{"dtype":"F32","shape":[2000,3000],"data_offsets":[0,24000000]}}"#)
    }

    impl Case {
        fn put(&self, path: &Path) {
            let mut count = Count(0);
            (self.write)(&mut count).expect("counting does not fail");
            let mut out = BufWriter::new(File::create(path).expect("a file"));
            out.write_all(&count.0.to_le_bytes())
                .and_then(|()| (self.write)(&mut out))
                .and_then(|()| repeat(&mut out, b"x", self.data))
                .and_then(|()| out.flush())
                .expect("there is room for the file");
        }

        fn judge(&self, path: &Path, limit: u64) {
            let name = path.to_str().expect("a plain path");
            Measured::of(&["check", name], None, self.exit).report(self.name, limit);
            let piped = Measured::of(&["check", "-"], Some(path), self.exit);
            piped.report(&format!("{}, through a pipe", self.name), limit);
        }
    }

    struct Count(u64);

    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn repeat(out: Out<'_>, piece: &[u8], bytes: u64) -> io::Result<()> {
        let count = bytes / piece.len() as u64;
        let block = piece.repeat(1000);
        (0..count / 1000).try_for_each(|_| out.write_all(&block))?;
        (0..count % 1000).try_for_each(|_| out.write_all(piece))
    }

    fn deep(out: Out<'_>) -> io::Result<()> {
        out.write_all(br#"{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":"#)?;
        repeat(out, b"[", HEADER - 100)
    }

    fn nested(out: Out<'_>) -> io::Result<()> {
        out.write_all(br#"{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":["#)?;
        repeat(out, b"[0],", HEADER - 100)?;
        out.write_all(b"[0]]}}")
    }

    fn long_names(out: Out<'_>, lengths: &[u64]) -> io::Result<()> {
        out.write_all(b"{")?;
        for (index, &length) in lengths.iter().enumerate() {
            out.write_all(if index == 0 { b"\"" } else { b",\"" })?;
            repeat(out, b"n", length)?;
            out.write_all(br#"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#)?;
        }
        out.write_all(b"}")
    }

    fn rank(out: Out<'_>) -> io::Result<()> {
        dims(out, RANK)
    }

    fn dims(out: Out<'_>, rank: u64) -> io::Result<()> {
        out.write_all(br#"{"a":{"dtype":"U8","data_offsets":[0,1],"shape":["#)?;
        repeat(out, b"1,", 2 * (rank - 1))?;
        out.write_all(b"1]}}")
    }

    fn metadata(out: Out<'_>) -> io::Result<()> {
        out.write_all(br#"{"__metadata__":{"k":""#)?;
        repeat(out, br"\u0041", HEADER - 100)?;
        out.write_all(br#""}}"#)
    }

    fn tensors(out: Out<'_>, order: impl Iterator<Item = u64>) -> io::Result<()> {
        let mut before = '{';
        for index in order {
            let end = index + 1;
            write!(
                out,
                "{before}\"t{index}\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{index},{end}]}}"
            )?;
            before = ',';
        }
        out.write_all(b"}")
    }

    fn keys(out: Out<'_>) -> io::Result<()> {
        pairs(out, KEYS)
    }

    fn pairs(out: Out<'_>, count: u64) -> io::Result<()> {
        out.write_all(br#"{"__metadata__":{"#)?;
        let mut before = "";
        for index in 0..count {
            write!(out, "{before}\"{index}\":\"\"")?;
            before = ",";
        }
        out.write_all(b"}}")
    }

    /// The memory and time of a run.
    struct Measured {
        peak: u64,
        /// The largest sample of its heap and stacks; only of runs of seconds.
        own: u64,
        time: Duration,
    }

    impl Measured {
        /// The memory of a program that does nothing.
        fn of_nothing() -> u64 {
            Self::usual(&["--version"])
        }

        /// The median, because runs differ by some hundred KiB.
        fn usual(args: &[&str]) -> u64 {
            let mut peaks = [(); 7].map(|()| Self::of(args, None, 0).peak);
            peaks.sort_unstable();
            peaks[3]
        }

        fn of(args: &[&str], piped: Option<&Path>, exit: i32) -> Self {
            let start = Instant::now();
            let mut command = Command::new(env!("CARGO_BIN_EXE_safetensors"));
            command.args(args).stdout(Stdio::null());
            command.stdin(if piped.is_some() { Stdio::piped() } else { Stdio::null() });
            #[expect(clippy::zombie_processes)] // `wait` below waits, and asks more than `Child::wait` does
            let mut child = command.spawn().expect("the binary runs");
            if let (Some(path), Some(mut pipe)) = (piped, child.stdin.take()) {
                // The pipe breaks if the verdict comes before the end.
                let _ = io::copy(&mut File::open(path).expect("the file"), &mut pipe);
            }
            let pid = child.id();
            let samples = thread::spawn(move || largest_own(pid));
            let (status, peak) = wait(pid);
            assert_eq!(status.code(), Some(exit), "{args:?}: {status}");
            Self { peak, own: samples.join().expect("samples"), time: start.elapsed() }
        }

        fn report(&self, name: &str, limit: u64) {
            self.report_within(name, limit, PATIENCE);
        }

        fn report_within(&self, name: &str, limit: u64, patience: Duration) {
            let (peak, bound) = (self.peak / 1024, limit / 1024);
            println!("{name}: {peak} KiB of at most {bound} KiB, {:.1?}", self.time);
            assert!(self.peak < limit, "{name} takes too much memory");
            assert!(self.time < patience, "{name} takes too long");
        }
    }

    impl Measured {
        /// The mapped part of the program's code depends on other contents of memory, so the measurement is
        /// repeated if the result is too large.
        fn best_of(args: &[&str], limit: u64) -> Self {
            let mut best = Self::of(args, None, 0);
            for _ in 0..2 {
                if best.peak >= limit {
                    let again = Self::of(args, None, 0);
                    best = if again.peak < best.peak { again } else { best };
                }
            }
            best
        }

        fn report_above(&self, command: &str, file: &str, nothing: u64) {
            let name = format!("safetensors {command}, a file of {file}, above --version");
            Self { peak: self.peak.saturating_sub(nothing), ..*self }.report(&name, STREAMED);
        }

        /// The peak also counts code, of which the system maps more or less: the same program differs by half
        /// a MiB from day to day.
        fn report_own(&self, command: &str, file: &str) {
            let name = format!("safetensors {command}, a file of {file}, heap and stacks");
            assert!(self.own > 0, "{name}: no sample was taken");
            Self { peak: self.own, ..*self }.report(&name, OWN);
        }
    }

    /// Samples the heap and the stacks of a program until it ends.
    fn largest_own(pid: u32) -> u64 {
        let (path, mut largest) = (format!("/proc/{pid}/status"), 0);
        // Of a program that has ended, no line is left.
        while let Some(own) = kibibytes_in(&path, "RssAnon:") {
            largest = largest.max(own);
            thread::sleep(Duration::from_millis(2));
        }
        largest * 1024
    }

    /// Waits for a child of this process, and returns its peak memory in bytes.
    fn wait(pid: u32) -> (ExitStatus, u64) {
        let pid = libc::pid_t::try_from(pid).expect("a process id");
        let mut status = 0;
        // SAFETY: all zeros is a value of this plain C structure.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers lead to variables that live for the whole call.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        assert_eq!(waited, pid, "{}", io::Error::last_os_error());
        let kibibytes = u64::try_from(usage.ru_maxrss).expect("a size");
        (ExitStatus::from_raw(status), kibibytes * 1024)
    }

    fn own_peak() -> u64 {
        kibibytes_in("/proc/self/status", "VmHWM:").expect("VmHWM") * 1024
    }

    fn kibibytes_in(path: &str, label: &str) -> Option<u64> {
        let status = fs::read_to_string(path).ok()?;
        let figure = status.lines().find_map(|line| line.strip_prefix(label))?;
        figure.trim().trim_end_matches(" kB").parse().ok()
    }
}
