//! `safetensors conform`: scores a reader against the conformance vectors.

use crate::commands::Run;
use crate::complaint::{Complaint, Outcome};
use crate::conform::{Break, Job, Store, Unusable, json, matches, page, run_all, summary};
use crate::exit::Exit;
use crate::product::Product;
use crate::text::{quoted, shown_text};
use crate::work::Work;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use vectors::{Manifest, Score, Vector};

/// Score any safetensors reader against the conformance vectors
///
/// The reader is a command that gets one file on standard input. For a valid file, it prints one JSON object
/// in the format of `safetensors decode` and exits with 0. For an invalid file, it exits with 1. Any other
/// exit code, a signal, output in another format, or no answer in time counts as a crash. Exit code: 0 if the
/// reader is right about all vectors, 1 if it is not, 2 if the reader cannot be run.
#[derive(clap::Args)]
pub struct Conform {
    /// Use the vectors in this directory [default: the built-in vectors]
    #[arg(long, value_name = "DIR")]
    vectors: Option<PathBuf>,

    /// Also require offsets and metadata, the code and byte of errors, and this project's verdict on files
    /// where readers may differ
    #[arg(long)]
    strict: bool,

    /// Include files larger than a megabyte
    #[arg(long)]
    large: bool,

    /// Use only vectors whose id matches, such as `utf8-*`
    #[arg(long, value_name = "GLOB", default_value = "*")]
    filter: String,

    /// Number of files to test at once [default: number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Kill the reader after this many seconds
    #[arg(long, value_name = "S", default_value = "60", value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,

    /// Print one JSON object with every answer
    #[arg(long)]
    json: bool,

    /// Write the results as a Markdown page; `-` prints only the page to standard output
    #[arg(long, value_name = "RESULTS.md")]
    page: Option<PathBuf>,

    /// Overwrite an existing page
    #[arg(long, requires = "page")]
    force: bool,

    /// Reader command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Run for Conform {
    fn json(&self) -> bool {
        self.json
    }

    fn run(self) -> Outcome {
        let store = self.vectors.clone().map_or(Store::Packed, Store::Folder);
        let manifest = store.manifest().map_err(|reason| complaint(&store, reason))?;
        let chosen = self.choose(&manifest)?;
        let page = self.page.as_ref().map(|path| Product::create(path, self.force)).transpose()?;
        let scores = self.ask(&store, &chosen)?;
        if let Some(page) = page {
            self.write_page(&manifest, &scores, page)?;
        }
        let is_printed = self.page.as_ref().is_some_and(|page| page.as_os_str() == "-");
        if !is_printed {
            self.print(&manifest, &scores)?;
        }
        Ok(if scores.iter().all(Score::is_right) { Exit::Good } else { Exit::Bad })
    }
}

impl Conform {
    fn choose<'m>(&self, manifest: &'m Manifest) -> Result<Vec<&'m Vector>, Complaint> {
        let asked =
            |vector: &&Vector| (self.large || !vector.is_large()) && matches(&self.filter, &vector.id);
        let chosen: Vec<&Vector> = manifest.vectors.iter().filter(asked).collect();
        if chosen.is_empty() {
            return Err(Complaint::usage(format!("no vector matches {}", quoted(&self.filter))));
        }
        Ok(chosen)
    }

    fn ask<'v>(&self, store: &Store, vectors: &[&'v Vector]) -> Result<Vec<Score<'v>>, Complaint> {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = self.jobs.map_or_else(processors, usize::from);
        let (command, strict) = (self.command.as_slice(), self.strict);
        let job = Job { store, command, jobs, seconds: self.timeout.into(), strict };
        let work = Work::new(
            "asking",
            vectors.iter().fold(0, |sum: u64, vector| sum.saturating_add(vector.length as u64)),
        );
        run_all(&job, vectors, |bytes| work.advance(bytes)).map_err(|broken| match broken {
            Break::Unusable(reason) => complaint(store, reason),
            Break::Stopped(complaint) => complaint,
        })
    }

    fn words(&self) -> Vec<String> {
        self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    fn write_page(
        &self,
        manifest: &Manifest,
        scores: &[Score<'_>],
        mut to: Product,
    ) -> Result<(), Complaint> {
        page(manifest, scores, &self.words().join(" "), &mut to).map_err(|error| to.cannot(error))?;
        to.finish()
    }

    fn print(&self, manifest: &Manifest, scores: &[Score<'_>]) -> io::Result<()> {
        let mut out = BufWriter::new(io::stdout().lock());
        if self.json {
            json(scores, &self.words(), self.strict, &mut out)?;
        } else {
            let left_out =
                |vector: &&Vector| vector.is_large() && matches(&self.filter, &vector.id) && !self.large;
            let left_out = manifest.vectors.iter().filter(left_out).count();
            summary(scores, self.strict, left_out, &mut out)?;
        }
        out.flush()
    }
}

fn complaint(store: &Store, reason: Unusable) -> Complaint {
    match reason {
        Unusable::Vectors(why) => Complaint::about(&store.manifest_path(), shown_text(&why)),
        Unusable::Reader(why) => Complaint::usage(shown_text(&why)),
    }
}
