//! Rules for every file of the project: short functions, short files, no leftovers.

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
const UNSAFE: [(&str, &str); 32] = [
    ("benches/cases/map.rs", "maps of files that nobody else knows of"),
    ("benches/formats/flat.rs", "what the compiler of FlatBuffers makes of a table"),
    ("crates/embedded-safetensors/examples/mapped.rs", "the map of a file of its own"),
    ("crates/embedded-safetensors/src/file/map_options.rs", "maps of files that nobody may change"),
    ("crates/embedded-safetensors/src/values/native.rs", "elements in place, proven by types"),
    ("firmware/board/src/bare/clock.rs", "the registers of a clock"),
    ("firmware/board/src/bare/enter.rs", "the reset of a bare machine"),
    ("firmware/board/src/bare/request.rs", "memory of a bare machine"),
    ("firmware/board/src/bare/stack.rs", "the stack, painted and looked at"),
    ("firmware/board/src/fault.rs", "the handler of faults, and a fault on purpose"),
    ("firmware/board/src/memory.rs", "the stack, looked at from below"),
    ("firmware/board/src/semihosting.rs", "calls to the debugger"),
    ("firmware/lm3s6965/src/registers.rs", "the registers of a chip"),
    ("firmware/measure/src/bin/by_hand.rs", "addresses counted by hand"),
    ("firmware/measure/src/bin/everything/main.rs", "the entry of a bare machine's program"),
    ("firmware/measure/src/bin/reference.rs", "the heap that the reference needs"),
    ("firmware/measure/src/frame.rs", "the entry of a bare machine's program"),
    ("firmware/measure/src/lib.rs", "a panic handler that cannot link"),
    ("firmware/measure/src/memory.rs", "memory of a bare machine"),
    ("firmware/netduinoplus2/src/flash.rs", "the words of the flash on the chip"),
    ("firmware/netduinoplus2/src/lib.rs", "where the flash on the chip is"),
    ("firmware/nrf52840/src/stop.rs", "the handler of faults"),
    ("firmware/riscv-virt/src/cfi.rs", "the words of a bank of flash"),
    ("firmware/riscv-virt/src/lib.rs", "where the bank of flash is"),
    ("firmware/rp2040/src/flash.rs", "a partition that the chip maps, and the section that starts the chip"),
    ("firmware/rp2040/src/stop.rs", "breakpoints, and the handler of faults"),
    ("host/tests/memory.rs", "asking the kernel what a child used"),
    ("tests/files/mapped.rs", "maps of files that nobody else knows of"),
    ("tests/files/syscalls.rs", "a child that asks to be watched"),
    ("tests/files/torn.rs", "maps of files that nobody else knows of"),
    ("tests/memory.rs", "an allocator that counts"),
    ("tests/support/apis/path.rs", "maps of files that nobody else knows of"),
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

#[test]
fn functions_are_short() {
    let mut functions: Vec<(usize, String)> = read_files().iter().flat_map(functions).collect();
    assert!(functions.len() > 100, "the code is not where it was");
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

/// Two packages have all tests except a few, in the files that their roots name: cargo finds none by itself.
#[test]
fn every_test_file_is_in_a_target() {
    for (folder, manifest) in [("tests/", "Cargo.toml"), ("host/tests/", "host/Cargo.toml")] {
        let files = source::files_below(folder);
        let root = files.iter().find(|file| file.path == format!("{folder}main.rs")).unwrap();
        let manifest = source::files_below(manifest).pop().unwrap();
        let has_program = |name: &str| manifest.text.contains(&format!("\npath = \"tests/{name}\"\n"));
        let is_named = |module: &str| root.text.contains(&format!("\nmod {module};\n"));
        let of_both = |name: &&str| *name != "source/mod.rs";
        let names = files.iter().map(|file| &file.path[folder.len()..]).filter(of_both);
        let orphans = names.filter(|name| match (name.strip_suffix("/mod.rs"), name.strip_suffix(".rs")) {
            (Some(module), _) | (None, Some(module)) if !module.contains('/') => {
                !is_named(module) && !has_program(name)
            }
            _ => false,
        });
        assert_eq!(orphans.collect::<Vec<_>>(), [""; 0], "no program has these files of {folder}");
    }
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
fn no_page_has_placeholders() {
    let files = source::files_below("");
    let pages = files.iter().filter(|file| file.path.ends_with(".md"));
    let found = pages.filter(|file| has_gap(&file.text)).map(|file| &file.path);
    assert_eq!(found.collect::<Vec<_>>(), [""; 0]);
}

/// `NAME` is a placeholder for a new file.
#[test]
fn contributing_names_existing_files() {
    let files = source::files_below("");
    let page = files.iter().find(|file| file.path.ends_with("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let quoted = page.text.split('`').skip(1).step_by(2);
    let paths: Vec<&str> =
        quoted.filter(|text| text.contains('/') && !text.contains("NAME") && !text.contains(' ')).collect();
    assert!(paths.len() > 15, "{paths:?}");
    let is_there = |path: &&&str| files.iter().any(|file| file.path.starts_with(**path));
    let gone: Vec<_> = paths.iter().filter(|path| !is_there(path)).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

#[test]
fn metrics_are_correct() {
    let text = "fn short() {}\n\n// why\nconst fn long(\n    a: u8,\n) -> u8 {\n    a\n}\nmod tests {\n    \
        fn not_counted() {}\n}\n";
    let file = File { path: "a.rs".to_owned(), text: text.to_owned() };
    let named = |name: &str| format!("{name} in a.rs");
    assert_eq!(functions(&file), [(1, named("short")), (5, named("long"))]);
    assert!(has_word("mod a { fn f() { unsafe {} } }".parse().unwrap(), "unsafe"));
    assert!(has_gap("a\n@FIGURES@\n") && !has_gap("a@b.c, D@E.F, @@"));
    assert!(!has_word("#![forbid(unsafe_code)] // unsafe".parse().unwrap(), "unsafe"));
}

fn rust_files() -> Vec<File> {
    source::files_below("").into_iter().filter(File::is_rust).collect()
}

fn read_files() -> Vec<File> {
    READ.iter().flat_map(|folder| source::files_below(folder)).filter(File::is_rust).collect()
}

/// Excludes lockfiles, which contain cargo's download addresses, and vectors, which contain any bytes.
fn is_ours(file: &File) -> bool {
    let vector = ["valid/", "invalid/", "either/"]
        .iter()
        .any(|folder| file.path.contains(&format!("vectors/{folder}")));
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

fn has_word(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == word,
        TokenTree::Group(group) => has_word(group.stream(), word),
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
