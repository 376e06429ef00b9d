//! Terminal output: colours, and progress of work that takes more than a second.
#![cfg(target_os = "linux")]

use crate::support::{Place, file, model, sound, tensor};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `script` runs the command on a terminal of its own, with so many columns.
fn start(place: &Place, columns: usize, command: &str, variable: (&str, &str)) -> Child {
    let command = format!("stty rows 24 cols {columns}; {} {command}", env!("CARGO_BIN_EXE_safetensors"));
    let mut script = Command::new("script");
    script.args(["-qefc", &command, "/dev/null"]).current_dir(place.path("."));
    script.env_remove("NO_COLOR").env_remove("COLUMNS").env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
    script.env(variable.0, variable.1).stdin(Stdio::null()).stdout(Stdio::piped());
    script.spawn().expect("the program `script`")
}

/// What the command prints there.
fn on_a_terminal(place: &Place, columns: usize, command: &str, variable: (&str, &str)) -> String {
    let output = start(place, columns, command, variable).wait_with_output().expect("it ends");
    String::from_utf8(output.stdout).expect("text").replace('\r', "")
}

#[test]
fn a_progress_bar_appears_on_terminals() {
    let (place, part) = (Place::new(), "B of 68.72 GB, ");
    place.put_sparse("large", 64 << 30);
    let mut child = start(&place, 80, "hash large", ("LC_ALL", "C"));
    let started = Instant::now();
    let mut screen = child.stdout.take().expect("a pipe");
    let (mut shown, mut piece) = (String::new(), [0; 4096]);
    while !shown.contains(part) && started.elapsed() < Duration::from_secs(60) {
        let len = screen.read(&mut piece).expect("it can be read");
        shown.push_str(&String::from_utf8_lossy(&piece[..len]));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(shown.contains(part), "{shown}");
    assert!(started.elapsed() > Duration::from_secs(1), "it shows at once");
}

#[test]
fn no_progress_bar_elsewhere() {
    let place = Place::new();
    place.put_sparse("large", 64 << 30);
    let mut child = place.command(["hash", "large"]).spawn().expect("the binary runs");
    // A terminal would show it after a second.
    std::thread::sleep(Duration::from_millis(1500));
    child.kill().expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0), "{output:?}");
}

#[test]
fn colours_respect_terminal_settings() {
    let place = Place::new();
    place.put("m", &sound());
    let list = place.done(["hash", "m"]).out + &place.done(["hash", "m"]).out.replace("  m", "  gone");
    place.put("evil", b"cos\nsystem\n.").put("list", list.as_bytes());
    let (red, green) = ("\u{1b}[31m\u{1b}[1m", "\u{1b}[32m");
    for (command, colour, word) in [
        ("hash --check list", green, "ok"),
        ("hash --check list", red, "missing"),
        ("lint m", red, "warning[align.data]"),
        ("lint m", green, "note[metadata.format]"),
        ("scan evil", red, "not allowed"),
    ] {
        let on_terminal = |variable| on_a_terminal(&place, 80, command, variable);
        let coloured = on_terminal(("LC_ALL", "C"));
        assert!(coloured.contains(&format!("{colour}{word}\u{1b}[0m")), "{command}: {coloured}");
        for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let plain = on_terminal(variable);
            assert!(plain.contains(word) && !plain.contains('\u{1b}'), "{command} {variable:?}: {plain}");
        }
    }
}

/// The same without colours.
pub fn on_columns(place: &Place, columns: usize, command: &str) -> String {
    on_a_terminal(place, columns, command, ("NO_COLOR", "1"))
}

/// Names differ where a cut in the middle would make them alike.
#[test]
fn names_are_whole_before_offsets_are_shown() {
    let place = Place::new();
    let layers = (0..4).flat_map(|layer| ["q", "k", "v", "o"].map(|part| (layer, part)));
    let names = layers.map(|(layer, part)| format!("model.layers.{layer}.self_attn.{part}_proj.weight"));
    let names: Vec<String> = names.collect();
    let tensors = names.iter().zip(0..).map(|(name, at)| tensor(name, at, at + 1)).collect::<Vec<_>>();
    let header = format!("{{\"__metadata__\":{{\"key\":\"{}\"}},{}}}", "v".repeat(70), tensors.join(","));
    place.put("m", &file(header, &[7; 16]));
    for command in ["inspect m", "inspect m --top 12", "stats m"] {
        let shown = on_columns(&place, 80, command);
        let least = if command.contains("top") { 12 } else { names.len() };
        assert!(
            names[..least].iter().all(|name| shown.contains(&format!("\"{name}\""))),
            "{command}: {shown}"
        );
        let fits = |line: &str| line.chars().count() <= 80;
        assert!(shown.lines().all(fits), "{command}: {shown}");
    }
    let wide = on_columns(&place, 120, "inspect m");
    assert!(wide.contains("  begin  end") && wide.contains("  metadata: \"key\": \"vvv"), "{wide}");
    let total = "  total: 12 tensors, 12 parameters of U8, 12 B\n";
    assert!(on_columns(&place, 80, "inspect m --only *[qkv]_*").contains(total));
    assert!(on_columns(&place, 300, "stats m").contains("histogram"));
    place.put("many", &model("", &[("w", "F32", &[5000], vec![1; 20_000])]));
    let is_noted = |columns| on_columns(&place, columns, "stats many").contains("~: a quantile");
    assert_eq!([60, 200].map(is_noted), [false, true]);
    let help = on_columns(&place, 50, "pack --help");
    assert!(help.contains("--rename-prefix"), "{help}");
    assert!(help.lines().all(|line| line.trim_end().chars().count() <= 50), "{help}");
}

/// Shapes of many dimensions, large integers and narrow terminals.
#[test]
fn no_line_of_a_table_is_wider_than_the_terminal() {
    let place = Place::new();
    let long = ["first", "second"].map(|name| "model.layers.".repeat(8) + name);
    let integers = [i64::MIN, i64::MAX].map(i64::to_le_bytes).concat();
    let rows = [
        ("i", "I64", &[2][..], integers),
        ("u", "U64", &[2], vec![255; 16]),
        (&long[0], "U8", &[1; 20], vec![7]),
        (&long[1], "U8", &[2000], vec![7; 2000]),
    ];
    place.put("m", &model("", &rows));
    place.done(["split", "m", "-o", "parts", "--max-size", "2000"]);
    for command in [
        "inspect m",
        "inspect parts",
        "inspect m --only '*'",
        "inspect m --tree",
        "stats m",
        "inspect m --dtypes",
        "pack m -o new --dry-run",
    ] {
        // The smallest integer alone takes 20 columns.
        let columns =
            [24, 40, 60, 80, 120].into_iter().filter(|columns| *columns > 24 || command != "stats m");
        for columns in columns {
            let shown = on_columns(&place, columns, command);
            let is_table = |line: &&str| [": ", " from "].iter().all(|part| !line.contains(part));
            let table = shown.lines().skip(1).filter(is_table);
            let too_wide: Vec<&str> = table.filter(|line| line.chars().count() > columns).collect();
            assert!(too_wide.is_empty(), "{command} {columns}: {too_wide:?}");
            assert!(shown.contains("\n  ") && !shown.contains("panicked"), "{command}: {shown}");
            let mut names = shown.lines().filter(|line| line.contains("first") || line.contains("second"));
            let is_cut = names.all(|line| line.contains('…') || command.contains("tree") || columns == 120);
            assert!(is_cut, "{command}: {shown}");
        }
        let total = |shown: &str| shown.lines().skip_while(|line| !line.contains("total: ")).count();
        if command == "stats m" {
            assert!(total(&on_columns(&place, 60, command)) > total(&on_columns(&place, 400, command)));
        }
        // A pipe gets whole names, and shapes of up to 16 dimensions.
        let shown = place.run(command.replace("'*'", "*").split(' '));
        let is_of_shapes = command.starts_with("inspect") && !command.contains("dtypes");
        assert!(!is_of_shapes || shown.out.contains("1, … 20 in all]"), "{command}: {shown:?}");
    }
}

/// An excerpt is no wider than the terminal, and its carets stand below the token.
#[test]
fn carets_stand_below_the_error_in_80_columns() {
    let place = Place::new();
    let entry =
        |name: &str, dtype| format!(r#""{name}":{{"dtype":"{dtype}","shape":[0],"data_offsets":[0,0]}}"#);
    let entries =
        ["first", "second", "third"].map(|name| entry(name, if name == "second" { "U9" } else { "U8" }));
    place.put("m", &file(format!("{{{}}}", entries.join(",")), b""));
    let out = on_columns(&place, 80, "check m");
    let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
    assert_eq!(lines[2].find('^'), lines[1].find("\"U9\"").map(|at| at - "…".len() + 1), "{out}");
    assert!(lines[1..].iter().all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
fn bytes_are_not_printed_on_a_terminal() {
    let place = Place::new();
    place.put("m", &sound());
    let cat = ["cat m a --format raw", "cat m a --format npy", "cat m a -o - --format raw"];
    for command in ["pack m -o -", "slice m a= -o -"].into_iter().chain(cat) {
        let out = on_columns(&place, 80, &format!("{command} || echo $?"));
        let refused = "safetensors: refusing to print bytes to a terminal; use --output FILE or --force\n2\n";
        assert_eq!(out, refused, "{command}");
    }
}
