//! What a program needs at most that reads all of a model through a door of the library, above one that does nothing: files of 6 GiB and
//! of 256 MiB streamed through 4 KiB, and one of 100,000 tensors. And what it needs with the reference, which takes a file whole.
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
        _ if std::env::var_os("SUITE_SHARE").is_some() => {
            println!("left out: `cargo xtask test memory` runs it");
        }
        _ => measured::all(),
    }
}

#[cfg(target_os = "linux")]
mod measured {
    use embedded_safetensors::{FileModel, Model, ReadAt, TensorReader, header::Entry, query::Query};
    use safetensors_0_8::SafeTensors;
    use safetensors_0_8::tensor::TensorView;
    use std::fs::File;
    use std::io::{self, BufWriter, Write};
    use std::os::unix::fs::FileExt;
    use std::path::Path;
    use std::process::Command;
    use std::time::{Duration, Instant};

    const MIB: u64 = 1 << 20;
    const SMALL: &[u8] = b"behind a hole of zeros";
    const MANY: u64 = 100_000;
    /// Above the program that does nothing.
    const LIMIT: u64 = 2 * MIB;
    /// The same of a list of so many tensors: names twice, shapes, and while it is made the header.
    const LISTED: u64 = LIMIT + MANY * 300;
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A file that programs read.
    struct Made {
        name: &'static str,
        about: &'static str,
        kind: Kind,
        /// Whether the reference reads it too, which needs as much memory as the file is long.
        is_for_reference: bool,
    }

    enum Kind {
        /// One tensor of so many zeros, and a small one behind it.
        Long(u64),
        /// A tensor of one byte, so many times.
        Many,
    }

    const FILES: [Made; 3] = [
        Made { name: "long", about: "256 MiB streamed", kind: Kind::Long(256 * MIB), is_for_reference: true },
        Made { name: "huge", about: "6 GiB streamed", kind: Kind::Long(6 << 30), is_for_reference: false },
        Made {
            name: "many",
            about: "100,000 tensors, all streamed",
            kind: Kind::Many,
            is_for_reference: true,
        },
    ];

    pub fn all() {
        // Where holes are read at the speed of memory, if there is such a place.
        let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
        let empty = run("nothing", place.path()).peak;
        println!("an empty program: {} KiB", empty / 1024);
        for made in &FILES {
            let path = place.path().join(made.name);
            made.write(&path).expect("there is room");
            let reference = made.is_for_reference.then(|| made.read("reference", &path, empty));
            for (door, limit) in [("Model", LIMIT), ("FileModel", made.listed())] {
                let name = format!("{door}, {}, above an empty program", made.about);
                made.read(door, &path, empty).judge(&name, limit, reference.as_ref());
            }
        }
    }

    impl Made {
        fn write(&self, path: &Path) -> io::Result<()> {
            match self.kind {
                Kind::Long(zeros) => write_long(path, zeros),
                Kind::Many => write_many(path),
            }
        }

        /// What all of its tensors have together.
        fn data_len(&self) -> u64 {
            match self.kind {
                Kind::Long(zeros) => zeros + SMALL.len() as u64,
                Kind::Many => MANY,
            }
        }

        /// What a list of its tensors may take.
        fn listed(&self) -> u64 {
            match self.kind {
                Kind::Long(_) => LIMIT,
                Kind::Many => LISTED,
            }
        }

        /// All of it, by a program that goes through this door; its memory above this much.
        fn read(&self, door: &str, path: &Path, empty: u64) -> Read {
            let read = run(door, path);
            assert_eq!(read.streamed, self.data_len(), "{door}, {}: not all bytes came", self.about);
            Read { peak: read.peak.saturating_sub(empty), ..read }
        }
    }

    /// What a program has done.
    struct Read {
        /// How much memory it had at most.
        peak: u64,
        /// How many bytes of tensors it looked at.
        streamed: u64,
        time: Duration,
    }

    impl Read {
        fn judge(&self, name: &str, limit: u64, reference: Option<&Self>) {
            let beside = reference
                .map_or(String::new(), |reference| format!("; the reference {} KiB", reference.peak / 1024));
            let (peak, most) = (self.peak / 1024, limit / 1024);
            println!("{name}: {peak} KiB of at most {most} KiB{beside}, {:.1?}", self.time);
            assert!(self.peak < limit, "{name} takes too much memory");
            assert!(self.time < PATIENCE, "{name} takes too long");
        }
    }

    /// A file with a hole for a tensor, and a small tensor behind it.
    fn write_long(path: &Path, hole: u64) -> io::Result<()> {
        let end = hole + SMALL.len() as u64;
        let header = format!(
            r#"{{"hole":{{"dtype":"U8","shape":[{hole}],"data_offsets":[0,{hole}]}},"small":{{"dtype":"U8","shape":[{}],"data_offsets":[{hole},{end}]}}}}"#,
            SMALL.len()
        );
        let len = header.len() as u64;
        let file = File::create(path)?;
        file.set_len(8 + len + end)?;
        file.write_all_at(&len.to_le_bytes(), 0)?;
        file.write_all_at(header.as_bytes(), 8)?;
        file.write_all_at(SMALL, 8 + len + hole)
    }

    /// A file of tensors of one byte, each by its place. Never whole in memory, lest the programs that are started begin with as much.
    fn write_many(path: &Path) -> io::Result<()> {
        let mut count = Count(0);
        write_header(&mut count)?;
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(&count.0.to_le_bytes())?;
        write_header(&mut file)?;
        (0..MANY).try_for_each(|index| file.write_all(&[nth_byte(index)]))?;
        file.flush()
    }

    /// What stands in one of the many tensors.
    fn nth_byte(index: u64) -> u8 {
        u8::try_from(index % 251).expect("it is less")
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

    /// Starts this program again.
    fn run(door: &str, path: &Path) -> Read {
        let start = Instant::now();
        let program = std::env::current_exe().expect("the path of this program");
        let output = Command::new(program).args(["report", door]).arg(path).output().expect("it runs");
        assert!(output.status.success(), "{door}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("numbers");
        let (peak, streamed) = text.trim().split_once(' ').expect("two numbers");
        Read {
            peak: peak.parse().expect("a number"),
            streamed: streamed.parse().expect("a number"),
            time: start.elapsed(),
        }
    }

    pub fn report(door: &str, path: &str) {
        let streamed = match door {
            "Model" if path.ends_with("many") => model_of_many(path),
            "Model" => model(path),
            "FileModel" => file_model(path),
            "reference" => reference(path),
            _ => 0,
        };
        println!("{} {streamed}", own_peak());
    }

    fn open<'f>(file: &'f File, window: &mut [u8]) -> Model<&'f File> {
        Model::open(file, window).expect("valid file")
    }

    fn model(path: &str) -> u64 {
        let (file, mut buffer) = (File::open(path).expect("the file"), [0; 4096]);
        let mut model = open(&file, &mut buffer);
        let (names, mut wanted) = (["hole", "small"], ["hole", "small"].map(Query::required));
        model.find_all(&mut wanted, &mut buffer).expect("they are there");
        let tensors = names.iter().zip(&wanted);
        tensors.map(|(name, tensor)| stream(name, model.reader(tensor).expect("it is this file's"))).sum()
    }

    /// Each tensor as the header tells of it, in one pass: one model is led through the header, another one reads.
    fn model_of_many(path: &str) -> u64 {
        let (file, mut buffer) = (File::open(path).expect("the file"), [0; 4096]);
        let (mut header, mut data) = (open(&file, &mut buffer), open(&file, &mut buffer));
        let mut streamed = 0;
        let read = |entry: &Entry<'_>| {
            streamed += stream(entry.name(), data.reader(&entry.info).expect("it is this file's"));
        };
        header.for_each(&mut [0; 64], &mut buffer, read).expect("valid file");
        streamed
    }

    fn file_model(path: &str) -> u64 {
        let model = FileModel::open(path).expect("valid file");
        model.tensors().map(|tensor| stream(tensor.name(), tensor.reader())).sum()
    }

    /// The file in memory, as the reference takes it.
    fn reference(path: &str) -> u64 {
        let bytes = std::fs::read(path).expect("the file");
        let tensors = SafeTensors::deserialize(&bytes).expect("valid file");
        let look_at = |(name, tensor): (&str, TensorView<'_>)| {
            tensor.data().chunks(4096).for_each(|chunk| look_at(name, chunk));
            tensor.data().len() as u64
        };
        tensors.iter().map(look_at).sum()
    }

    /// Chunk by chunk, and looks at every byte.
    fn stream<S: ReadAt<Error = io::Error>>(name: &str, mut reader: TensorReader<'_, S>) -> u64 {
        let (mut streamed, mut buffer) = (0, [0; 4096]);
        while let Some(chunk) = reader.next_chunk(&mut buffer).expect("the disk works") {
            look_at(name, chunk);
            streamed += chunk.len() as u64;
        }
        streamed
    }

    /// All that a small tensor holds, or a piece of the hole.
    fn look_at(name: &str, chunk: &[u8]) {
        let is_due = match name {
            "hole" => [0; 4096].starts_with(chunk),
            "small" => chunk == SMALL,
            _ => chunk == [nth_byte(place_of(name))],
        };
        assert!(is_due, "{name} has wrong bytes");
    }

    /// Which of the many tensors this is.
    fn place_of(name: &str) -> u64 {
        let place = name.strip_prefix("model.layers.").and_then(|rest| rest.strip_suffix(".weight"));
        place.and_then(|place| place.parse().ok()).expect("one of the many")
    }

    /// The most memory that this process has had.
    fn own_peak() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("/proc/self/status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
        let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kibibytes * 1024
    }
}
