//! `safetensors conform`: scores a reader against the conformance vectors.

use crate::commands::Run;
use crate::complaint::{Complaint, Outcome};
use crate::conform::{
    Asked, Break, Choice, Job, Store, Unusable, json, page, run_all, summary, with_control,
};
use crate::exit::Exit;
use crate::product::Product;
use crate::remote::check_local;
use crate::text::shown_text;
use crate::work::Work;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;
use vectors::{Manifest, Score, Vector};

/// Score any safetensors reader against the conformance vectors
///
/// The reader is a command that gets one file on standard input. If it accepts the file, it prints one JSON
/// object in the format of `safetensors decode` and exits with 0; if it rejects the file, it exits with 1.
/// With --batch it is started once, gets a path on each line, and prints a line for each. It runs in an empty
/// directory. Exit code: 0 if the reader is right about all vectors, 1 if it is not, 2 if it cannot be run or
/// accepts no valid file.
#[derive(clap::Args)]
pub struct Conform {
    #[command(flatten)]
    choice: Choice,

    /// Start the reader once: it gets a path per line, and prints a line of JSON for each
    #[arg(long, conflicts_with = "jobs")]
    batch: bool,

    /// Use the vectors in this directory [default: the built-in vectors]
    #[arg(long, value_name = "DIR")]
    vectors: Option<PathBuf>,

    /// Also require offsets and metadata, the code and byte of errors, and this project's verdict on files
    /// where readers may differ
    #[arg(long)]
    strict: bool,

    /// Number of files to test at once [default: number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Kill the reader if it has no answer about a file after this many seconds
    #[arg(long, value_name = "S", default_value = "60", value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,

    /// Print one JSON object with every answer
    #[arg(long)]
    json: bool,

    /// Write the results as a page for a browser; `-` prints only the page to standard output
    #[arg(long, value_name = "RESULTS.html")]
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
        if let Some(path) = &self.vectors {
            check_local(path).map_err(|reason| Complaint::not_read(path, reason))?;
        }
        let store = self.vectors.clone().map_or(Store::Packed, Store::Folder);
        let manifest = store.manifest().map_err(|reason| complaint(&store, reason))?;
        let (chosen, others) = self.choice.choose(&manifest).map_err(Complaint::usage)?;
        let page = self.page.as_ref().map(|path| Product::create(path, self.force)).transpose()?;
        let scores = self.ask(&store, &manifest, &chosen)?;
        let (command, level) = (self.words(), self.choice.level);
        let (command, manifest) = (command.as_slice(), &manifest);
        let asked = Asked { manifest, command, is_batch: self.batch, level, strict: self.strict, others };
        if let Some(mut to) = page {
            write_page(&asked, &store, &scores, &mut to)?;
            to.finish()?;
        }
        let is_printed = self.page.as_ref().is_some_and(|page| page.as_os_str() == "-");
        if !is_printed {
            self.print(&asked, &scores)?;
        }
        Ok(if scores.iter().all(Score::is_right) { Exit::Good } else { Exit::Bad })
    }
}

impl Conform {
    /// Asks about the chosen vectors, their twins and the control, and returns the scores of the chosen ones.
    fn ask<'v>(
        &self,
        store: &Store,
        manifest: &'v Manifest,
        chosen: &[&'v Vector],
    ) -> Result<Vec<Score<'v>>, Complaint> {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let jobs = self.jobs.map_or_else(processors, usize::from);
        let (command, strict) = (self.command.as_slice(), self.strict);
        let time = Duration::from_secs(self.timeout.into());
        let job = Job { store, command, is_batch: self.batch, jobs, time, strict };
        let vectors = with_control(manifest, chosen);
        let work = Work::on_files("asking", vectors.len() as u64);
        let scores = run_all(&job, &vectors, |files| work.advance(files)).map_err(|broken| match broken {
            Break::Unusable(reason) => complaint(store, reason),
            Break::Stopped(complaint) => complaint,
        })?;
        let scores: HashMap<&str, Score<'v>> =
            scores.into_iter().map(|score| (score.vector.id.as_str(), score)).collect();
        Ok(chosen.iter().filter_map(|vector| with_twin(vector, &scores)).collect())
    }

    fn words(&self) -> Vec<String> {
        self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    fn print(&self, asked: &Asked<'_>, scores: &[Score<'_>]) -> io::Result<()> {
        let mut out = BufWriter::new(io::stdout().lock());
        let print = if self.json { json } else { summary };
        print(asked, scores, &mut out)?;
        out.flush()
    }
}

/// Returns the score of a vector, with regard to its twin.
fn with_twin<'v>(vector: &'v Vector, scores: &HashMap<&str, Score<'v>>) -> Option<Score<'v>> {
    let score = scores.get(vector.id.as_str())?.clone();
    let twin = vector.twin.as_deref().and_then(|twin| scores.get(twin));
    Some(match twin {
        Some(twin) => score.with_twin(twin),
        None => score,
    })
}

fn write_page(
    asked: &Asked<'_>,
    store: &Store,
    scores: &[Score<'_>],
    to: &mut Product,
) -> Result<(), Complaint> {
    let page = page(asked, store, scores).map_err(|reason| complaint(store, reason))?;
    to.write_all(page.as_bytes()).map_err(|error| to.cannot(error))
}

fn complaint(store: &Store, reason: Unusable) -> Complaint {
    match reason {
        Unusable::Vectors(why) => Complaint::about(&store.manifest_path(), shown_text(&why)),
        Unusable::Reader(why) => Complaint::usage(shown_text(&why)),
    }
}
