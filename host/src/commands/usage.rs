//! Errors in the command line, and what to write instead.

use super::{Error, Exit, NAMES, command_line};
use crate::args::remote::hide_in_text;
use crate::print::diagnostic::say;
use crate::text::terminal::Stream;
use crate::text::{did_you_mean, shell_word};
use clap::error::{ContextKind as Kind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// Options of other programs that choose tensors.
const CHOICE: &str = "--drop --except --exclude --filter --include --name --only --remove --tensor --tensors";

/// Guesses, the commands that they are about, or none for all, and what to write instead: an option, for the
/// commands that have it, or a sentence. The first that fits counts.
const TIPS: &[(&str, &str, &str)] = &[
    (CHOICE, "cat", "the tensor follows the model: `safetensors cat MODEL TENSOR`"),
    (CHOICE, "slice", "tensors follow the model: `safetensors slice MODEL TENSOR=SPEC... -o OUTPUT`"),
    ("--filter --include --name --tensor --tensors", "", "--only"),
    (CHOICE, "", "--except"),
    (CHOICE, "", "`safetensors pack FILE -o OUTPUT` chooses tensors, with --only and --except"),
    ("--meta --metadata", "", "--set"),
    ("--meta --metadata metadata", "", "`safetensors inspect --json FILE` shows all metadata"),
    ("--size --shards", "split", "--max-size"),
    ("--dequantise --dequantize", "convert", "--unscale"),
    ("--atol", "diff", "--tolerance"),
    ("--rtol", "diff", "--relative"),
    ("--recursive -R -r", "", "directories are taken as they are, without it"),
    ("--strip-prefix", "", "`safetensors pack FILE -o OUTPUT --rename-prefix OLD=` removes a prefix"),
    ("--format", "", "--lang"),
    ("--format", "convert", "the suffix of the output sets the format: .safetensors, .npy, .npz or .gguf"),
    ("--format", "check diff hash inspect lint scan stats", "--json"),
    ("--json", "decode", "the output is JSON without it"),
    ("--sort", "", "--order"),
    ("--head --top -n", "", "--limit"),
    ("--head --limit -n", "", "--top"),
    ("--quiet --silent -q", "", "the exit code has the result; `> /dev/null` discards the output"),
    ("--overwrite --yes -f -y", "", "--force"),
    ("--file --input -f -i", "", "files are given without an option"),
    ("--out --outdir --output-dir", "", "--output"),
    ("--out --output -o", "", "the result goes to standard output; `> FILE` writes it to a file"),
    ("--dtype", "", "--values"),
    ("cast", "", "`safetensors convert IN OUT --to DTYPE` casts"),
    ("--dtype --to", "cat join pack quant slice split", "`safetensors convert IN OUT --to DTYPE` casts"),
    ("--version version", "", "`safetensors --version` prints the version"),
    ("compare", "", "`safetensors diff A B` compares two models"),
    ("append concat", "", "`safetensors pack FILE... -o OUTPUT` puts the tensors of several files into one"),
    ("average lora", "", "`safetensors merge` merges LoRAs into a model, and averages models"),
    ("copy cp delete drop remove", "", "`safetensors pack FILE -o OUTPUT` copies all; --except drops some"),
    ("edit rename", "", "`safetensors pack FILE --in-place` edits names with --rename, metadata with --set"),
    ("fix", "", "`safetensors repair` keeps what is whole; `pack --in-place` repairs interrupted edits"),
    ("shard", "", "`safetensors split MODEL -o DIR --max-size SIZE` writes shards"),
    ("upload", "", "no command uploads; `hf upload` of the Python package huggingface_hub does"),
    ("dump extract get", "", "`safetensors cat MODEL TENSOR` prints a tensor, `slice` writes some to a file"),
    ("head header keys list print view", "", "`safetensors inspect FILE` lists tensors, `cat` prints one"),
    ("export import", "", "`safetensors convert IN OUT` reads and writes other formats"),
    ("quantise quantize", "", "`safetensors convert IN OUT --to I8 --scale per-row`; `quant` is for GPTQ"),
    ("checksum sha256 sha256sum sum", "", "`safetensors hash MODEL` prints SHA-256 sums"),
    ("tree", "", "`safetensors inspect --tree FILE` shows the names as a tree"),
    ("download fetch", "", "`safetensors checkpoint DIR URL` downloads the files of a model"),
    ("validate", "", "`safetensors check FILE` validates files, `hash --verify LIST` their sums"),
];

/// Prints the error in these words with a tip, or as one JSON object. Help is printed and is no error.
pub fn end(mut error: clap::Error, words: &[OsString]) -> Exit {
    if !error.use_stderr() {
        return error.print().map_or_else(|error| say(&error.into(), false), |()| Exit::Good);
    }
    let tip = tip(&error, words);
    // No command takes an option as a value.
    error.remove(Kind::Suggested);
    let text = hide_in_text(words, error.to_string());
    if words.iter().any(|word| word == "--json") {
        let mistake = text.split("\n\n").next().unwrap_or_default().split_whitespace().skip(1);
        let sentence =
            mistake.collect::<Vec<_>>().join(" ") + &tip.map_or(String::new(), |tip| format!("; {tip}"));
        return say(&Error::usage(sentence), true);
    }
    let text = text.replacen("error:", &Stream::Err.bad("error:"), 1);
    let tip = tip.map_or(String::new(), |tip| format!("  {} {tip}\n\n", Stream::Err.good("tip:")));
    let written = write!(io::stderr(), "{}", text.replacen("\n\n", &format!("\n\n{tip}"), 1));
    written.map_or_else(|error| say(&error.into(), false), |()| Exit::Failed)
}

/// What to write instead, in one sentence. None is better than a wrong one.
fn tip(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let (mut program, word) = (command_line(), Kind::InvalidSubcommand);
    program.build();
    let used = words.iter().skip(1).find_map(|word| program.find_subcommand(word)).unwrap_or(&program);
    let longs = used.get_arguments().filter_map(Arg::get_long).map(|long| format!("--{long}"));
    let values = error.get(Kind::ValidValue);
    let (mistake, command, mut known): (_, _, Vec<String>) = match (error.kind(), values) {
        (ErrorKind::InvalidSubcommand, _) => (word, &program, NAMES.map(Into::into).into()),
        (ErrorKind::UnknownArgument, _) => (Kind::InvalidArg, used, longs.collect()),
        (_, Some(ContextValue::Strings(values))) => (Kind::InvalidValue, used, values.clone()),
        _ => return None,
    };
    let Some(ContextValue::String(guess)) = error.get(mistake) else { return None };
    let slips = |word: &str| strsim::damerau_levenshtein(guess, word);
    known.retain(|word| word.starts_with(guess) || 3 * slips(word) < word.trim_start_matches('-').len());
    let is_listed = guess.starts_with('-') || mistake == word;
    match listed(guess, command).filter(|_| is_listed) {
        None if mistake == word && (guess.contains(['.', '/']) || Path::new(guess).exists()) => {
            let file = shell_word(&hide_in_text(words, guess.clone()));
            Some(format!("`safetensors inspect {file}` shows the model, `check {file}` validates it"))
        }
        None if known.contains(guess) => Some("options follow the command".to_owned()),
        None => did_you_mean(guess, known.iter().map(String::as_str)).strip_prefix("; ").map(str::to_owned),
        listed => listed,
    }
}

/// What the table says to a guess, which is an option or stands for a command.
fn listed(guess: &str, command: &Command) -> Option<String> {
    let has = |words: &str, word: &str| words.split(' ').any(|known| known == word);
    let fits = |commands: &str| commands.is_empty() || has(commands, command.get_name());
    let mut rows = TIPS.iter().filter(|(guesses, commands, _)| has(guesses, guess) && fits(commands));
    rows.find_map(|(.., advice)| {
        let Some(long) = advice.strip_prefix("--") else { return Some((*advice).to_owned()) };
        let option = command.get_arguments().find(|option| option.get_long() == Some(long))?;
        let help = option.get_help()?.to_string();
        Some(format!("use `{option}`: {}{}", help[..1].to_lowercase(), &help[1..]))
    })
}
