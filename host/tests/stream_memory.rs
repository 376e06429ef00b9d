//! The peak memory of programs that read a complete model through an API of the library, above an empty
//! program: files of 6 GiB and of 256 MiB streamed through 4 KiB, and one of 100,000 tensors. For
//! comparison, the memory with the reference, which reads the entire file.
//!
//! All programs are this one, started again with other arguments. Each reports its peak memory at its end,
//! without that of its parent.

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("peak memory is only measured on Linux");
}

#[cfg(target_os = "linux")]
fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "report", api, path] => measured::report(api, path),
        _ if std::env::var_os("SUITE_SHARE").is_some() => {
            println!("left out: `cargo xtask test command` runs it");
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
    /// Above the empty program.
    const LIMIT: u64 = 2 * MIB;
    /// The same for a list of these tensors: names twice, shapes, and temporarily the header.
    const LISTED: u64 = LIMIT + MANY * 300;
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A file to read.
    struct TestFile {
        name: &'static str,
        about: &'static str,
        kind: Kind,
        /// Whether the reference reads it too, which needs as much memory as the file is long.
        is_for_reference: bool,
    }

    enum Kind {
        /// One tensor of this many zeros, and a small one after it.
        Long(u64),
        /// Many tensors of one byte.
        Many,
    }

    const FILES: [TestFile; 3] = [
        TestFile {
            name: "long",
            about: "256 MiB streamed",
            kind: Kind::Long(256 * MIB),
            is_for_reference: true,
        },
        TestFile {
            name: "huge",
            about: "6 GiB streamed",
            kind: Kind::Long(6 << 30),
            is_for_reference: false,
        },
        TestFile {
            name: "many",
            about: "100,000 tensors, all streamed",
            kind: Kind::Many,
            is_for_reference: true,
        },
    ];

    pub fn all() {
        // In memory, where sparse files are fast, if possible.
        let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
        let empty = run("nothing", place.path()).peak;
        println!("an empty program: {} KiB", empty / 1024);
        for made in &FILES {
            let path = place.path().join(made.name);
            made.write(&path).expect("disk space");
            let reference = made.is_for_reference.then(|| made.read("reference", &path, empty));
            for (api, limit) in [("Model", LIMIT), ("FileModel", made.listed())] {
                let name = format!("{api}, {}, above an empty program", made.about);
                made.read(api, &path, empty).judge(&name, limit, reference.as_ref());
            }
        }
    }

    impl TestFile {
        fn write(&self, path: &Path) -> io::Result<()> {
            match self.kind {
                Kind::Long(zeros) => write_long(path, zeros),
                Kind::Many => write_many(path),
            }
        }

        /// The length of all tensors together.
        fn data_len(&self) -> u64 {
            match self.kind {
                Kind::Long(zeros) => zeros + SMALL.len() as u64,
                Kind::Many => MANY,
            }
        }

        /// The limit for a list of its tensors.
        fn listed(&self) -> u64 {
            match self.kind {
                Kind::Long(_) => LIMIT,
                Kind::Many => LISTED,
            }
        }

        /// Reads everything through this API; the result has the memory above `empty`.
        fn read(&self, api: &str, path: &Path, empty: u64) -> Read {
            let read = run(api, path);
            assert_eq!(read.streamed, self.data_len(), "{api}, {}: not all bytes came", self.about);
            Read { peak: read.peak.saturating_sub(empty), ..read }
        }
    }

    /// The result of a program.
    struct Read {
        /// The peak memory.
        peak: u64,
        /// The bytes of tensors that were read.
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

    /// A file with a sparse tensor, and a small tensor after it.
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

    /// A file of tensors of one byte, whose value depends on the index. Never held in memory, which child
    /// processes would inherit.
    fn write_many(path: &Path) -> io::Result<()> {
        let mut count = Count(0);
        write_header(&mut count)?;
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(&count.0.to_le_bytes())?;
        write_header(&mut file)?;
        (0..MANY).try_for_each(|index| file.write_all(&[nth_byte(index)]))?;
        file.flush()
    }

    /// The byte of one of the many tensors.
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
    fn run(api: &str, path: &Path) -> Read {
        let start = Instant::now();
        let program = std::env::current_exe().expect("the path of this program");
        let output = Command::new(program).args(["report", api]).arg(path).output().expect("it runs");
        assert!(output.status.success(), "{api}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("numbers");
        let (peak, streamed) = text.trim().split_once(' ').expect("two numbers");
        Read {
            peak: peak.parse().expect("a number"),
            streamed: streamed.parse().expect("a number"),
            time: start.elapsed(),
        }
    }

    pub fn report(api: &str, path: &str) {
        let streamed = match api {
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
        model.find_all(&mut wanted, &mut buffer).expect("all found");
        let tensors = names.iter().zip(&wanted);
        tensors.map(|(name, tensor)| stream(name, model.reader(tensor).expect("same file"))).sum()
    }

    /// Reads each tensor as it appears in the header, in one pass: one model reads the header, another one
    /// the data.
    fn model_of_many(path: &str) -> u64 {
        let (file, mut buffer) = (File::open(path).expect("the file"), [0; 4096]);
        let (mut header, mut data) = (open(&file, &mut buffer), open(&file, &mut buffer));
        let mut streamed = 0;
        let read = |entry: &Entry<'_>| {
            streamed += stream(entry.name(), data.reader(&entry.info).expect("same file"));
        };
        header.for_each(&mut [0; 64], &mut buffer, read).expect("valid file");
        streamed
    }

    fn file_model(path: &str) -> u64 {
        let model = FileModel::open(path).expect("valid file");
        model.tensors().map(|tensor| stream(tensor.name(), tensor.reader())).sum()
    }

    /// The file in memory, for the reference.
    fn reference(path: &str) -> u64 {
        let bytes = std::fs::read(path).expect("the file");
        let tensors = SafeTensors::deserialize(&bytes).expect("valid file");
        let look_at = |(name, tensor): (&str, TensorView<'_>)| {
            tensor.data().chunks(4096).for_each(|chunk| look_at(name, chunk));
            tensor.data().len() as u64
        };
        tensors.iter().map(look_at).sum()
    }

    /// Reads chunk by chunk, and checks every byte.
    fn stream<S: ReadAt<Error = io::Error>>(name: &str, mut reader: TensorReader<'_, S>) -> u64 {
        let (mut streamed, mut buffer) = (0, [0; 4096]);
        while let Some(chunk) = reader.next_chunk(&mut buffer).expect("the disk works") {
            look_at(name, chunk);
            streamed += chunk.len() as u64;
        }
        streamed
    }

    /// Checks a small tensor, or a piece of the sparse one.
    fn look_at(name: &str, chunk: &[u8]) {
        let is_due = match name {
            "hole" => [0; 4096].starts_with(chunk),
            "small" => chunk == SMALL,
            _ => chunk == [nth_byte(place_of(name))],
        };
        assert!(is_due, "{name} has wrong bytes");
    }

    /// The index of one of the many tensors.
    fn place_of(name: &str) -> u64 {
        let place = name.strip_prefix("model.layers.").and_then(|rest| rest.strip_suffix(".weight"));
        place.and_then(|place| place.parse().ok()).expect("one of the many")
    }

    /// The peak memory of this process.
    fn own_peak() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("/proc/self/status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
        let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kibibytes * 1024
    }
}
