//! Rules for every file of the project: short functions, short files, no leftovers.

mod links;
mod source;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use source::File;

/// The code that people read to understand the project. Tests are lists and may be long.
const READ: [&str; 6] =
    ["crates", "host/src", "firmware", "tests/support", "tests/source", "tests/vectors/generator"];

const MEDIAN_FUNCTION: usize = 8;
const NINETIETH_PERCENTILE: usize = 30;
const LONGEST_FUNCTION: usize = 60;

/// Longer functions, and the reason for each: `NAME in PATH`.
const LONG_FUNCTIONS: [(&str, &str); 1] = [(
    "advance in crates/embedded-safetensors/src/header/scanner.rs",
    "one loop with a line or more for each state: with its text in a function of its own a header takes 2 % \
        more instructions",
)];

/// The files with `unsafe`, and the reasons, sorted by path.
const UNSAFE: [(&str, &str); 55] = [
    ("benches/cases/map.rs", "maps of files that only this process uses"),
    ("benches/counts/main.rs", "the counted heap"),
    ("crates/embedded-safetensors/src/file/map_options.rs", "maps of files that must not change"),
    ("crates/embedded-safetensors/src/values/native.rs", "elements in place, safe by their types"),
    ("crates/embedded-safetensors/tests/vectors.rs", "maps of files of the repository"),
    ("crates/safetensors-c/fuzz/api.rs", "calls of the C API"),
    ("crates/safetensors-c/fuzz/plan.rs", "memory that is lent to C, with guards"),
    ("crates/safetensors-c/fuzz/writes.rs", "calls of the C API"),
    ("crates/safetensors-c/src/error.rs", "errors in memory of C"),
    ("crates/safetensors-c/src/file_receiver.rs", "what a C caller passes"),
    ("crates/safetensors-c/src/lib.rs", "the panic handler"),
    ("crates/safetensors-c/src/model.rs", "what a C caller passes"),
    ("crates/safetensors-c/src/object.rs", "objects in memory of C"),
    ("crates/safetensors-c/src/pointers.rs", "pointers of C, checked"),
    ("crates/safetensors-c/src/reading.rs", "what a C caller passes"),
    ("crates/safetensors-c/src/receiver.rs", "what a C caller passes"),
    ("crates/safetensors-c/src/recorder.rs", "what a C caller passes"),
    ("crates/safetensors-c/src/slots.rs", "callbacks of C"),
    ("crates/safetensors-c/src/storage.rs", "callbacks of C"),
    ("crates/safetensors-c/src/tensors.rs", "tables in memory of C"),
    ("crates/safetensors-c/src/verifier.rs", "what a C caller passes"),
    (
        "crates/safetensors-convert/src/numbers/wide.rs",
        "loops compiled for AVX2, called if the processor has it",
    ),
    ("crates/safetensors-js/src/lib.rs", "the functions and the state of an instance"),
    ("crates/safetensors-js/src/memory.rs", "the memory of an instance of WebAssembly"),
    ("crates/safetensors-python/src/buffer.rs", "the bytes of Python's objects"),
    ("crates/safetensors-python/src/copy.rs", "new objects of Python, whose bytes are not initialised"),
    ("crates/safetensors-python/src/memory.rs", "memory that Python has, and private maps of files"),
    ("crates/safetensors-python/src/pages.rs", "advice about pages of memory that is written next"),
    ("crates/safetensors-python/src/spec.rs", "addresses that Python programs pass"),
    ("firmware/board/src/bare/clock.rs", "the registers of a clock"),
    ("firmware/board/src/bare/enter.rs", "the reset handler"),
    ("firmware/board/src/bare/request.rs", "static memory"),
    ("firmware/board/src/bare/stack.rs", "the stack, painted and inspected"),
    ("firmware/board/src/fault.rs", "the fault handler, and a deliberate fault"),
    ("firmware/board/src/memory.rs", "the end of the stack"),
    ("firmware/lm3s6965/src/registers.rs", "the registers of a chip"),
    ("firmware/measure/src/bin/by_hand.rs", "addresses counted by hand"),
    ("firmware/measure/src/bin/everything/main.rs", "the entry point, and memory of the device"),
    ("firmware/measure/src/bin/job_c.rs", "the call of the job in C"),
    ("firmware/measure/src/bin/reference.rs", "the heap that the reference needs"),
    ("firmware/measure/src/lib.rs", "an undefined panic symbol, the entry point, and memory of the device"),
    ("firmware/netduinoplus2/src/flash.rs", "the words of the flash on the chip"),
    ("firmware/netduinoplus2/src/main.rs", "where the flash on the chip is"),
    ("firmware/nrf52840/src/stop.rs", "the fault handler"),
    ("firmware/riscv-virt/src/cfi.rs", "the words of a bank of flash"),
    ("firmware/riscv-virt/src/lib.rs", "where the bank of flash and the UART are"),
    ("firmware/rp2040/src/flash.rs", "a memory-mapped partition, and the boot section"),
    ("firmware/rp2040/src/stop.rs", "breakpoints, and the fault handler"),
    ("host/tests/memory.rs", "querying the kernel for a child's usage"),
    ("tests/c/calls.rs", "calls of the C API"),
    ("tests/c/verdicts.rs", "callbacks of the C API"),
    ("tests/c/wrong.rs", "callbacks of the C API"),
    ("tests/files/mapped.rs", "maps of files that only this process uses"),
    ("tests/files/torn.rs", "maps of files that only this process uses"),
    ("tests/support/apis/path.rs", "maps of files that only this process uses"),
];

/// Words that mark unfinished work or are specific to one computer. Each is split in two, because this file
/// is tested too.
const WORDS: [[&str; 2]; 13] = [
    ["TO", "DO"],
    ["FIX", "ME"],
    ["#[ign", "ore"],
    ["todo", "!("],
    ["unimplemented", "!("],
    ["/ho", "me/"],
    ["/ro", "ot/"],
    ["/wo", "rk/"],
    ["/tm", "p/"],
    ["crates", ".io/"],
    ["pypi", ".org"],
    ["artifact", "ory"],
    ["deb.deb", "ian"],
];

/// Words of an older dialect, each of which made a reader stop. CONTRIBUTING.md has the words to use.
const DIALECT: [&str; 16] = [
    "door",
    "doors",
    "in one act",
    "vouch",
    "vouches",
    "whoever",
    "anew",
    "occurs twice",
    "stands twice",
    "is there twice",
    "where they lie",
    "where it lies",
    "high byte first",
    "usual spelling",
    "comes by",
    "mends",
];

#[test]
fn functions_are_short() {
    let mut functions: Vec<(usize, String)> = read_files().iter().flat_map(functions).collect();
    assert!(functions.len() > 100, "the code has moved");
    functions.sort();
    let length_at = |percent: usize| functions[functions.len() * percent / 100].0;
    assert!(length_at(50) <= MEDIAN_FUNCTION, "half of the functions have more than {} lines", length_at(50));
    assert!(
        length_at(90) <= NINETIETH_PERCENTILE,
        "a tenth of the functions have more than {} lines",
        length_at(90)
    );
    let long = functions.iter().filter(|(lines, _)| *lines > LONGEST_FUNCTION);
    let long: Vec<&str> = long.map(|(_, name)| name.as_str()).collect();
    assert_eq!(long, LONG_FUNCTIONS.map(|(name, _)| name));
}

#[test]
fn unsafe_is_only_in_listed_files() {
    let files = rust_files();
    let found = files.iter().filter(|file| has_word(file.tokens(), "unsafe"));
    assert_eq!(found.map(|file| file.path.as_str()).collect::<Vec<_>>(), UNSAFE.map(|(path, _)| path));
}

/// The compiler's lints reject lossy casts; here they are allowed.
#[test]
fn narrowing_casts_are_in_one_file() {
    let core = source::files_below("crates/embedded-safetensors/src");
    let found = core.iter().filter(|file| file.text.contains("(clippy::cast_"));
    let found: Vec<_> = found.map(|file| file.path.rsplit('/').next().unwrap()).collect();
    assert_eq!(found, ["bytes.rs"]);
}

#[test]
fn core_denies_unsafe_code_except_two_modules() {
    let files = source::files_below("crates/embedded-safetensors/src");
    let root = files.iter().find(|file| file.path.ends_with("/lib.rs")).unwrap();
    assert!(root.text.contains("\n#![deny(unsafe_code)]\n"));
    let allowed = files.iter().flat_map(|file| {
        let after = file.text.split("allow(unsafe_code)]\n").skip(1);
        after.map(|after| (file.path.rsplit_once("/src/").unwrap().1, after.lines().next().unwrap()))
    });
    assert_eq!(
        allowed.collect::<Vec<_>>(),
        [("file/mod.rs", "mod map_options;"), ("values/mod.rs", "pub(crate) mod native;")]
    );
    assert_eq!(files.iter().map(|file| file.text.matches("allow(unsafe_code)").count()).sum::<usize>(), 2);
}

/// Without `std` and without `alloc` nothing can be allocated.
#[test]
fn core_has_no_heap() {
    let files = source::files_below("crates/embedded-safetensors/src");
    let root = files.iter().find(|file| file.path.ends_with("/lib.rs")).unwrap();
    assert!(root.text.contains("\n#![no_std]\n"));
    assert!(!files.iter().any(|file| file.text.contains("extern crate alloc")));
}

/// Two packages have all tests except a few, in the files that their roots name: cargo finds none by itself.
#[test]
fn every_test_file_is_in_a_target() {
    for (directory, manifest) in [("tests/", "Cargo.toml"), ("host/tests/", "host/Cargo.toml")] {
        let files = source::files_below(directory);
        let manifest = source::files_below(manifest).pop().unwrap();
        let has_program = |name: &str| manifest.text.contains(&format!("\npath = \"tests/{name}\"\n"));
        let is_program = |file: &&File| has_program(&file.path[directory.len()..]);
        let programs: Vec<&File> = files.iter().filter(is_program).collect();
        let is_named = |module: &str| {
            programs.iter().any(|program| program.text.contains(&format!("\nmod {module};\n")))
        };
        let names = files.iter().map(|file| &file.path[directory.len()..]);
        let orphans = names.filter(|name| match (name.strip_suffix("/mod.rs"), name.strip_suffix(".rs")) {
            (Some(module), _) | (None, Some(module)) if !module.contains('/') => {
                !is_named(module) && !has_program(name)
            }
            _ => false,
        });
        assert_eq!(orphans.collect::<Vec<_>>(), [""; 0], "no target has these files of {directory}");
    }
}

/// Each stands alone, so that its directory can be copied: only the model is the same file in all of them.
#[test]
fn programs_to_copy_are_short_and_have_one_model() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("firmware");
    let packages = ["minimal", "minimal-embassy", "minimal-esp"];
    let models = packages.map(|name| std::fs::read(root.join(name).join("model.safetensors")).unwrap());
    assert!(models.iter().all(|model| *model == models[0]));
    let files = source::files_below("firmware");
    let is_program = |file: &&File| {
        file.path.starts_with("firmware/minimal") && file.path.contains("/src/") && file.is_rust()
    };
    let lengths: Vec<_> =
        files.iter().filter(is_program).map(|file| (file.text.lines().count(), &file.path)).collect();
    assert!(lengths.len() >= 4 && lengths.iter().all(|(lines, _)| *lines <= 80), "{lengths:?}");
}

/// `tests/support/Cargo.toml` disables its tests, so none would run.
#[test]
fn support_has_no_tests() {
    let files = source::files_below("tests/support");
    let found = files.iter().filter(|file| file.is_rust() && file.text.contains("#[test]"));
    assert_eq!(found.map(|file| &file.path).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn no_unfinished_work_markers() {
    let files = source::files_below("");
    let found = files.iter().flat_map(|file| WORDS.map(|halves| (file, halves.concat())));
    let found = found.filter(|(file, word)| is_ours(file) && file.text.contains(word.as_str()));
    assert_eq!(found.map(|(file, word)| (file.path.clone(), word)).collect::<Vec<_>>(), []);
}

#[test]
fn no_text_is_in_the_old_dialect() {
    let files = source::files_below("");
    let is_text = |file: &&File| [".rs", ".md", ".py", ".toml"].iter().any(|end| file.path.ends_with(end));
    // The word list names the words; these files are data of tests, and RULES.md quotes them.
    let is_exempt = |file: &&File| {
        ["tests/house.rs", "CONTRIBUTING.md"].contains(&file.path.as_str())
            || file.path.starts_with("tests/vectors/")
    };
    let texts = files.iter().filter(is_text).filter(|file| !is_exempt(file));
    let found = texts.flat_map(|file| DIALECT.map(|word| (file, word)));
    let found = found.filter(|(file, word)| has_phrase(&file.text, word));
    assert_eq!(found.map(|(file, word)| (file.path.as_str(), word)).collect::<Vec<_>>(), []);
}

/// Only lines with a text in quotes, which cannot be split, and rows of tables may be longer.
#[test]
fn lines_have_at_most_110_columns() {
    const LONGEST: usize = 110;
    let files = rust_files();
    let is_table = |line: &str| line.trim_start().starts_with("//! |");
    let long = |line: &&str| line.chars().count() > LONGEST && !line.contains('"') && !is_table(line);
    let found = files.iter().filter_map(|file| Some((&file.path, file.text.lines().find(long)?)));
    assert_eq!(found.collect::<Vec<_>>(), []);
}

/// Nobody can read longer ones in a terminal.
#[test]
fn cells_of_tables_have_at_most_200_characters() {
    let files = source::files_below("");
    let pages = files.iter().filter(|file| file.path.ends_with(".md"));
    let rows =
        pages.flat_map(|page| page.text.lines().map(move |line| (&page.path, line.replace(r"\|", "/"))));
    let is_long = |cell: &str| cell.trim().chars().count() > 200;
    let found = rows.filter(|(_, row)| row.starts_with('|') && row.split('|').any(is_long));
    assert_eq!(found.collect::<Vec<_>>(), []);
}

/// The first command of a reader must not fail.
#[test]
fn pages_add_packages_and_features_that_exist() {
    let files = source::files_below("");
    let manifest = |line: &str| {
        let mut manifests = files.iter().filter(|file| file.path.ends_with("Cargo.toml"));
        manifests.find(|manifest| manifest.text.contains(line)).map(|manifest| manifest.text.as_str())
    };
    let pages = files.iter().filter(|file| file.path.ends_with(".md"));
    let lines: Vec<&str> =
        pages.flat_map(|page| page.text.lines().filter_map(|line| line.strip_prefix("cargo add "))).collect();
    for line in &lines {
        let words: Vec<&str> = line.split(' ').collect();
        let found = match words[0].split_once('@') {
            Some((name, version)) => manifest("\nname = \"guide\"\n")
                .map(|manifest| manifest.contains(&format!("\n{name} = \"{version}\""))),
            None => manifest(&format!("\nname = \"{}\"\n", words[0])).map(|manifest| match words[1..] {
                ["--features", feature] => manifest.contains(&format!("\n{feature} = [")),
                _ => true,
            }),
        };
        assert_eq!(found, Some(true), "{line}");
    }
    assert!(lines.len() > 4, "{lines:?}");
}

#[test]
fn no_page_has_placeholders() {
    let files = source::files_below("");
    let pages = files.iter().filter(|file| file.path.ends_with(".md"));
    let found = pages.filter(|file| has_gap(&file.text)).map(|file| &file.path);
    assert_eq!(found.collect::<Vec<_>>(), [""; 0]);
}

/// `NAME` is a placeholder for a new file. Paths may begin in a directory of a package.
#[test]
fn contributing_names_existing_files() {
    let files = source::files_below("");
    let page = files.iter().find(|file| file.path.ends_with("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let quoted = page.text.split('`').skip(1).step_by(2);
    let paths: Vec<&str> =
        quoted.filter(|text| text.contains('/') && !text.contains("NAME") && !text.contains(' ')).collect();
    assert!(paths.len() > 15, "{paths:?}");
    let has =
        |file: &File, path: &str| file.path.starts_with(path) || file.path.contains(&format!("/{path}"));
    let is_there = |path: &&&str| files.iter().any(|file| has(file, path));
    let gone: Vec<_> = paths.iter().filter(|path| !is_there(path)).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

/// Whether a text contains these words, not as a part of others.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(|it| it.is_alphanumeric() || it == '_');
    text.match_indices(phrase).any(|(at, _)| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + phrase.len()..].chars().next())
    })
}

fn rust_files() -> Vec<File> {
    source::files_below("").into_iter().filter(File::is_rust).collect()
}

fn read_files() -> Vec<File> {
    READ.iter().flat_map(|directory| source::files_below(directory)).filter(File::is_rust).collect()
}

/// Excludes lockfiles, which contain cargo's download addresses, and vectors, which contain any bytes.
fn is_ours(file: &File) -> bool {
    let vector = ["valid/", "invalid/", "either/"]
        .iter()
        .any(|directory| file.path.contains(&format!("vectors/{directory}")));
    !vector && !file.path.ends_with(".lock")
}

/// Returns the length in lines, from `fn` to the closing brace, and the name of every function with a body.
fn functions(file: &File) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    collect_functions(&source::without_unit_tests(file.tokens()), &mut found);
    found.into_iter().map(|(lines, name)| (lines, format!("{name} in {}", file.path))).collect()
}

fn collect_functions(tokens: &[TokenTree], found: &mut Vec<(usize, String)>) {
    for (index, token) in tokens.iter().enumerate() {
        match (token, tokens.get(index + 1)) {
            (TokenTree::Ident(word), Some(TokenTree::Ident(name))) if word == "fn" => {
                let first = word.span().start().line;
                found.extend(body_end(&tokens[index..]).map(|last| (last - first + 1, name.to_string())));
            }
            (TokenTree::Group(group), _) => collect_functions(&trees(group.stream()), found),
            _ => {}
        }
    }
}

/// Returns the line of the brace that closes the body; `None` for a signature without one.
fn body_end(tokens: &[TokenTree]) -> Option<usize> {
    tokens.iter().find_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
            Some(Some(group.span().end().line))
        }
        TokenTree::Punct(punct) if punct.as_char() == ';' => Some(None),
        _ => None,
    })?
}

fn has_word(tokens: TokenStream, wanted: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == wanted,
        TokenTree::Group(group) => has_word(group.stream(), wanted),
        _ => false,
    })
}

/// Whether the text has a placeholder: a word in capitals between two `@`.
fn has_gap(text: &str) -> bool {
    let between = text.split('@').skip(1);
    let mut closed = between.clone().zip(between.skip(1)).map(|(word, _)| word);
    closed.any(|word| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_uppercase()))
}

fn trees(stream: TokenStream) -> Vec<TokenTree> {
    stream.into_iter().collect()
}
