//! `safetensors inspect` with options that choose, sort and sum.
#![cfg(unix)]

use crate::support::{Place, file, tensor};
use serde_json::json;

/// Twelve layers, so that `10` comes after `2`; a tensor with the name of a group; a name without dots.
fn place() -> Place {
    let layers = (0..12).map(|layer| (format!("h.{layer}.w"), "U8", 10 + layer, 10 + layer));
    let others =
        [("h.3", "F32", 2, 8), ("bias", "F16", 1, 2), ("a.b.c.d", "U8", 1, 1), ("a.b.c.e", "U8", 1, 1)];
    let others = others.map(|(name, dtype, elements, len)| (name.to_owned(), dtype, elements, len));
    let rows = layers.chain(others).map(|(name, dtype, elements, len)| {
        (name, dtype, vec![elements], vec![0; usize::try_from(len).expect("short")])
    });
    let place = Place::new();
    place.put_model("m", &rows.collect::<Vec<_>>());
    place.done(["split", "m", "-o", "parts", "--max-size", "100"]);
    place
}

/// The first words of the lines between the verdict and the total.
fn names(place: &Place, args: &[&str]) -> Vec<String> {
    let run = place.done([&["inspect"], args].concat());
    let rows = run.out.lines().skip(2).take_while(|line| !line.is_empty());
    rows.map(|row| row.split_whitespace().next().expect("a word").replace('"', "")).collect()
}

#[test]
fn tensors_are_sorted_filtered_and_cut() {
    let place = place();
    for model in ["m", "parts"] {
        assert_eq!(names(&place, &[model, "--sort", "size", "--top", "2"]), ["h.11.w", "h.10.w"]);
        assert_eq!(
            names(&place, &[model, "--filter", "h.1*.w", "--filter", "bias"]),
            ["h.1.w", "h.10.w", "h.11.w", "bias"]
        );
        assert_eq!(names(&place, &[model, "--sort", "name", "--top", "3"]), ["a.b.c.d", "a.b.c.e", "bias"]);
        assert_eq!(names(&place, &[model, "--sort", "dtype"])[..2], ["h.11.w", "h.10.w"]);
        assert_eq!(names(&place, &[model, "--sort", "dtype"])[14..], ["bias", "h.3"]);
        assert_eq!(names(&place, &[model, "--sort", "offset", "--top", "1"]), ["h.0.w"]);
    }
    // As in the other commands.
    assert_eq!(names(&place, &["m", "--only", "h.1*", "--except", "h.10*"]), ["h.1.w", "h.11.w"]);
    let total = "  total: 4 tensors, 53 parameters, 54 B: U8 52 in 52 B, F16 1 in 2 B\n";
    let run = place.run(["inspect", "m", "--filter", "h.1*", "--filter", "bias", "--top", "1"]);
    assert!(run.out.ends_with(total), "{}", run.out);
    place.run(["inspect", "m", "--filter", "x*"]).is(2, "", "m: no tensor matches \"x*\"\n");
}

/// Usage errors say what to do.
#[test]
fn sums_are_not_sorted_or_cut() {
    let place = place();
    for (view, option) in [("--tree", "--top"), ("--dtypes", "--top"), ("--tree", "--sort")] {
        let value = if option == "--top" { "3" } else { "size" };
        let run = place.run(["inspect", "m", view, option, value]);
        assert!(run.code == Some(2) && run.err.contains("use --only to choose tensors"), "{run:?}");
    }
    for command in ["inspect", "stats"] {
        assert_eq!(place.run([command, "m", "--top", "0"]).code, Some(2));
    }
}

#[test]
fn a_tree_has_sums() {
    let place = place();
    let tree = |model: &str| place.run(["inspect", model, "--tree"]).out;
    let (m, parts) = (tree("m"), tree("parts"));
    assert_eq!(m.lines().skip(1).collect::<Vec<_>>(), parts.lines().skip(1).collect::<Vec<_>>());
    let rows: Vec<&str> = m.lines().skip(1).collect();
    let order: Vec<&str> = rows.iter().filter_map(|row| row.split_whitespace().next()).collect();
    let place_of = |name: &str| order.iter().position(|other| *other == name).expect("a row");
    assert!(rows[0].starts_with("  tensor") && order.contains(&"a.b.c"), "{m}");
    assert!(place_of("2.w") < place_of("3.w") && place_of("9.w") < place_of("10.w"), "{m}");
    let group = rows.iter().find(|row| row.contains("13 tensors")).expect("the group");
    assert!(group.ends_with("188  194 B"), "{group}");
    assert!(order.contains(&"3") && order.contains(&"3.w"), "a tensor and a group: {m}");
}

#[test]
fn dtypes_are_summed() {
    let place = place();
    for model in ["m", "parts"] {
        let run = place.run(["inspect", model, "--dtypes"]);
        let table: Vec<&str> = run.out.lines().skip(1).take(4).collect();
        assert_eq!(
            table,
            [
                "  dtype  tensors  parameters  bytes   size    share",
                "  U8          14         188    188  188 B  94.95 %",
                "  F32          1           2      8    8 B   4.04 %",
                "  F16          1           1      2    2 B   1.01 %",
            ],
            "{model}"
        );
    }
}

#[test]
fn json_has_the_chosen_tensors_and_the_tree() {
    let place = place();
    let run = |args: &[&str]| place.done([&["inspect", "--json"], args].concat()).json();
    let (whole, top) = (run(&["m"]), run(&["m", "--sort", "size", "--top", "1"]));
    assert_eq!(top["tensors"], json!({ "h.11.w": whole["tensors"]["h.11.w"] }));
    for member in ["file", "ok", "bytes", "data_start", "metadata", "parameters", "dtypes"] {
        assert_eq!(top[member], whole[member], "{member}");
    }
    let tree = run(&["parts", "--tree", "--filter", "a.*"]);
    assert_eq!(
        tree["tree"],
        json!([
            { "depth": 0, "name": "a.b.c", "tensors": 2, "parameters": 2, "bytes": 2 },
            { "depth": 1, "name": "d", "tensor": "a.b.c.d", "parameters": 1, "bytes": 1 },
            { "depth": 1, "name": "e", "tensor": "a.b.c.e", "parameters": 1, "bytes": 1 },
        ])
    );
}

#[test]
fn names_of_many_dots_end_somewhere() {
    let place = Place::new();
    let (name, dots) = ("x.".repeat(100_000) + "end", ".".repeat(1000));
    place.put("m", &file(format!("{{{},{}}}", tensor(&name, 0, 1), tensor(&dots, 1, 2)), b"ab"));
    let run = place.run(["inspect", "m", "--tree"]);
    let is_whole = run.out.contains("x.end") && run.out.contains("2 tensors");
    assert!(is_whole && run.out.lines().count() < 100, "{:?}", run.code);
}
