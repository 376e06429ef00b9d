//! What a program needs at most that reads a model through a door of the library, above one that does nothing: a file of 6 GiB streamed
//! through 4 KiB, and one of 100,000 tensors.
//!
//! All programs are this one, started again with words that say what to do. Each asks the system at its end how much memory it had
//! at most, which does not count that of whoever started it.

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("peak memory is only measured on Linux");
}

#[cfg(target_os = "linux")]
fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "report", door, path] => measured::report(door, path),
        _ => measured::all(),
    }
}

#[cfg(target_os = "linux")]
mod measured {
    use embedded_safetensors::{FileModel, Model, ReadAt, TensorReader, Wanted};
    use std::fs::File;
    use std::io::{self, BufWriter, Write};
    use std::os::unix::fs::FileExt;
    use std::path::Path;
    use std::process::Command;
    use std::time::{Duration, Instant};

    const MIB: u64 = 1 << 20;
    const HUGE: u64 = 6 << 30;
    const SMALL: &[u8] = b"behind 6 GiB of zeros";
    const MANY: u64 = 100_000;
    /// Above the program that does nothing.
    const LIMIT: u64 = 2 * MIB;
    /// The same of a list of so many tensors: names twice, shapes, and while it is made the header.
    const LISTED: u64 = LIMIT + MANY * 300;
    const PATIENCE: Duration = Duration::from_secs(60);

    /// What a program does, and with what file: `huge` or `many`.
    struct Case {
        door: &'static str,
        file: &'static str,
        limit: u64,
    }

    const CASES: [Case; 4] = [
        Case { door: "Model", file: "huge", limit: LIMIT },
        Case { door: "Model", file: "many", limit: LIMIT },
        Case { door: "FileModel", file: "huge", limit: LIMIT },
        Case { door: "FileModel", file: "many", limit: LISTED },
    ];

    pub fn all() {
        // Where holes are read at the speed of memory, if there is such a place.
        let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
        write_huge(&place.path().join("huge"));
        write_many(&place.path().join("many")).expect("there is room");
        let (empty, _) = run("nothing", place.path());
        println!("an empty program: {} KiB", empty / 1024);
        for Case { door, file, limit } in &CASES {
            let start = Instant::now();
            let (peak, streamed) = run(door, &place.path().join(file));
            let (above, time) = (peak.saturating_sub(empty), start.elapsed());
            let name = format!("{door}, {}, above an empty program", about(file));
            println!("{name}: {} KiB of at most {} KiB, {time:.1?}", above / 1024, limit / 1024);
            assert_eq!(streamed, if *file == "huge" { HUGE + SMALL.len() as u64 } else { MANY });
            assert!(above < *limit, "{name} takes too much memory");
            assert!(time < PATIENCE, "{name} takes too long");
        }
    }

    fn about(file: &str) -> &str {
        if file == "huge" { "6 GiB streamed" } else { "100,000 tensors, all streamed" }
    }

    /// A file with a hole for a tensor, and a small tensor behind it.
    fn write_huge(path: &Path) {
        let end = HUGE + SMALL.len() as u64;
        let header = format!(
            r#"{{"huge":{{"dtype":"U8","shape":[{HUGE}],"data_offsets":[0,{HUGE}]}},"small":{{"dtype":"U8","shape":[{}],"data_offsets":[{HUGE},{end}]}}}}"#,
            SMALL.len()
        );
        let len = header.len() as u64;
        let file = File::create(path).expect("a file");
        file.set_len(8 + len + end).expect("the disk takes files with holes");
        file.write_all_at(&len.to_le_bytes(), 0).expect("there is room");
        file.write_all_at(header.as_bytes(), 8).expect("there is room");
        file.write_all_at(SMALL, 8 + len + HUGE).expect("there is room");
    }

    /// A file of tensors of one byte. Never whole in memory, lest the programs that are started begin with as much.
    fn write_many(path: &Path) -> io::Result<()> {
        let mut count = Count(0);
        write_header(&mut count)?;
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(&count.0.to_le_bytes())?;
        write_header(&mut file)?;
        file.into_inner()?.set_len(8 + count.0 + MANY)
    }

    fn write_header(out: &mut impl Write) -> io::Result<()> {
        for index in 0..MANY {
            let (before, end) = (if index == 0 { '{' } else { ',' }, index + 1);
            write!(
                out,
                r#"{before}"model.layers.{index}.weight":{{"dtype":"U8","shape":[1],"data_offsets":[{index},{end}]}}"#
            )?;
        }
        out.write_all(b"}")
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

    /// Starts this program again; how much memory it had at most, and how many bytes it streamed.
    fn run(door: &str, path: &Path) -> (u64, u64) {
        let program = std::env::current_exe().expect("the path of this program");
        let output = Command::new(program).args(["report", door]).arg(path).output().expect("it runs");
        assert!(output.status.success(), "{door}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("numbers");
        let (peak, streamed) = text.trim().split_once(' ').expect("two numbers");
        (peak.parse().expect("a number"), streamed.parse().expect("a number"))
    }

    pub fn report(door: &str, path: &str) {
        let streamed = match door {
            "Model" if path.ends_with("huge") => model(path),
            "Model" => model_of_many(path),
            "FileModel" => file_model(path),
            _ => 0,
        };
        println!("{} {streamed}", own_peak());
    }

    fn model(path: &str) -> u64 {
        let mut buffer = [0; 4096];
        let mut model = Model::open(File::open(path).expect("the file"), &mut buffer).expect("it is sound");
        let mut wanted = [Wanted::new("huge"), Wanted::new("small")];
        model.find_all(&mut wanted, &mut buffer).expect("they are there");
        let tensors = wanted.iter().zip([&[0; 4096], SMALL]);
        tensors.map(|(tensor, due)| stream(model.tensor(tensor).expect("it is this file's"), due)).sum()
    }

    /// The first and the last tensor by their names, and all data in one piece.
    fn model_of_many(path: &str) -> u64 {
        let mut buffer = [0; 4096];
        let mut model = Model::open(File::open(path).expect("the file"), &mut buffer).expect("it is sound");
        let mut wanted = [Wanted::new("model.layers.0.weight"), Wanted::new("model.layers.99999.weight")];
        model.find_all(&mut wanted, &mut buffer).expect("they are there");
        for tensor in &wanted {
            assert_eq!(stream(model.tensor(tensor).expect("it is this file's"), &[0]), 1);
        }
        let mut streamed = 0;
        model
            .visit(&mut [0; 64], &mut buffer, |entry| streamed += entry.info.byte_len())
            .expect("it is sound");
        streamed
    }

    fn file_model(path: &str) -> u64 {
        let model = FileModel::open(path).expect("it is sound");
        let due = |name: &str| if name == "small" { SMALL } else { &[0; 4096] };
        model.tensors().map(|tensor| stream(tensor.reader(), due(tensor.name()))).sum()
    }

    /// Chunk by chunk, and looks at every byte.
    fn stream<S: ReadAt<Error = io::Error>>(mut reader: TensorReader<'_, S>, repeated: &[u8]) -> u64 {
        let (mut streamed, mut buffer) = (0, [0; 4096]);
        while let Some(chunk) = reader.next_chunk(&mut buffer).expect("the disk works") {
            assert!(repeated.starts_with(chunk), "wrong bytes before byte {}", reader.position());
            streamed += chunk.len() as u64;
        }
        streamed
    }

    /// The most memory that this process has had.
    fn own_peak() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("/proc/self/status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
        let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kibibytes * 1024
    }
}
