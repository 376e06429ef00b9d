//! The page of `safetensors report`, and how it treats texts of a file.
#![cfg(unix)]

use crate::support::{self, Place, file, many, model, sound, tensor};
use base64::{Engine, engine::general_purpose::STANDARD};
use embedded_safetensors::Dtype;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;

fn page(place: &Place, model: &str, code: i32) -> String {
    let run = place.run(["report", model, "-o", "page.html", "--force"]);
    assert_eq!(run.code, Some(code), "{run:?}");
    String::from_utf8(place.read("page.html")).expect("text")
}

/// Text in JSON that would end an attribute, become markup, or change the direction of the page.
const EVIL: &str = r#"\"'></script><img src=x onerror=alert(1)>&\u202e\u0007"#;
const ESCAPED: &str = "&quot;&#39;&gt;&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&amp;\\u{202e}\\u{7}";

/// Checks that a page has no elements and no characters of the file. Returns how often it shows the text.
fn escaped(page: &str) -> usize {
    assert_eq!([page.matches("<script").count(), page.matches("</script").count()], [1; 2], "{page}");
    assert!(!page.contains("<img") && !page.contains(['\u{202e}', '\u{7}']), "{page}");
    page.matches(ESCAPED).count()
}

#[test]
fn nothing_from_the_file_is_markup() {
    let place = Place::new();
    let metadata = format!(r#""__metadata__":{{"{EVIL}":"{EVIL}"}}"#);
    let (x, y) = (format!("{EVIL}.x"), format!("{EVIL}.y"));
    let tensors = [tensor(&x, 0, 4), tensor(&y, 4, 8), tensor(EVIL, 8, 12)].join(",");
    place.put("<img>&'.safetensors", &file(format!("{{{metadata},{tensors}}}"), b"abcdabcdabcd"));
    let valid = page(&place, "<img>&'.safetensors", 0);
    let heading = "&lt;img&gt;&amp;&#39;.safetensors";
    for part in [
        &format!("<title>{heading}</title>"),
        &format!("<h1>{heading}</h1>"),
        &format!("<summary><span class=n>{ESCAPED}</span>"),
        &format!("<div class=t title=\"{ESCAPED}.x\"><div class=n>x</div>"),
        &format!("<div class=t title=\"{ESCAPED}\"><div class=n>{ESCAPED}</div>"),
        &format!("<g><title>{ESCAPED}, U8 [4], "),
        &format!("<code>{ESCAPED}</code>: "),
        &format!("<td class=n>{ESCAPED}<td><pre>{ESCAPED}</pre>"),
    ] {
        assert!(valid.contains(part.as_str()), "{part}: {valid}");
    }
    // Everywhere else, too.
    assert_eq!(escaped(&valid), valid.matches("onerror").count(), "{valid}");
    place.put("old", &file(format!("{{{}}}", tensor(EVIL, 0, 4).replace("U8", EVIL)), b"abcd"));
    assert!(escaped(&page(&place, "old", 1)) >= 1);
    place.put("<img>1", &file(format!("{{{}}}", tensor("a", 0, 4)), b"abcd"));
    place.put("<img>2", &file(format!("{{{}}}", tensor("b", 0, 4)), b"abcd"));
    place.put("m.safetensors.index.json", br#"{"weight_map":{"a":"<img>1","b":"<img>2"}}"#);
    let shards = page(&place, "m.safetensors.index.json", 0);
    assert!(shards.contains("<div class=n>&lt;img&gt;1</div>"), "{shards}");
    escaped(&shards);
}

#[test]
fn a_page_needs_nothing_else() {
    let place = Place::new();
    place.put("m", &sound());
    for page in [page(&place, "m", 0), {
        place.put("m", b"no model");
        page(&place, "m", 1)
    }] {
        // No other script may run. The policy comes before the first text of a file.
        let (_, script) = page.split_once("<script>").expect("a script");
        let hash = Sha256::digest(script.split_once("</script>").expect("its end").0);
        let policy = format!(
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; \
             style-src 'unsafe-inline'; script-src 'sha256-{}'\">\n",
            STANDARD.encode(hash)
        );
        assert!(page.split_once("<title>").expect("a title").0.contains(&policy), "{policy}");
        // Comments of the script are no references.
        let code: String = page.lines().filter(|line| !line.trim_start().starts_with("// ")).collect();
        for reference in ["http:", "https:", "//", "src=", "href=", "url(", "@import"] {
            assert!(!code.contains(reference), "{reference}");
        }
        assert!(page.contains("prefers-color-scheme:dark"));
    }
}

#[test]
fn a_page_has_all_parts() {
    let place = Place::new();
    let model = "../firmware/app/models/digits-f16.safetensors";
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/").to_owned() + model;
    let page = page(&place, &model, 0);
    for part in [
        "<span class=\"verdict ok\">valid</span>",
        "<b>350,810</b><span>parameters</span>",
        "<svg class=map",
        "<title>fc2.weight, F16 [400, 400], bytes 53,608 to 373,608, 320.0 KB</title>",
        "<code>safetensors pack <span class=w>--set</span> format=pt FILE",
        "<td class=n>script<td><pre>firmware/app/training/train.py</pre>",
        "<summary><span class=n>fc4</span>",
        "F16 [10, 400]",
        "-0.3132 to 0.5571, mean -0.001871, std 0.08828, zeros 0 %",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<div class=t title=").count(), 8);
    assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
}

#[test]
fn an_invalid_file_has_a_page_with_its_error() {
    let place = Place::new();
    let old = r#"{"<b>":{"dtype":"F8_E4M3FN","shape":[2],"data_offsets":[0,2]}}"#;
    place.put("old", &file(old, b"xx"));
    let page = page(&place, "old", 1);
    assert!(page.contains("<span class=\"verdict no\">invalid</span>"), "{page}");
    let error = "error[dtype.unknown] at byte 24: tensor &quot;&lt;b&gt;&quot;: unknown dtype";
    assert!(page.contains(error) && page.contains("&quot;F8_E4M3FN&quot;"), "{page}");
    assert!(page.contains("^^^^^^^^^^^"), "{page}");
}

#[test]
fn values_that_are_not_finite_stand_out() {
    let place = Place::new();
    let numbers = support::floats(&[f32::NAN, 1.5, f32::INFINITY]);
    let rows = [
        ("nan", "F32", &[3][..], numbers),
        ("only", "F16", &[1], vec![0, 0x7C]),
        ("none", "U8", &[0], vec![]),
    ];
    place.put("m", &model("", &rows));
    let page = page(&place, "m", 0);
    for part in [
        "<b>3</b><span>NaN or infinite values</span>",
        ", <b>1 NaN</b>, <b>1 infinite</b></div>",
        "no finite values, <b>1 infinite</b>",
        ">no values</div>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

/// The bound that the page of the command states.
#[test]
fn the_size_of_a_page_is_bounded() {
    let place = Place::new();
    place.put("m", &many("model.layers.1000.block.10.weight", 10_000));
    let page = page(&place, "m", 0);
    assert_eq!(page.matches("<div class=t title=").count(), 10_000);
    assert!(page.matches("<rect").count() <= 2001, "{}", page.matches("<rect").count());
    assert!(page.len() < 20_000 + 10_000 * 800, "{}", page.len());
}

/// Each dtype has its own colour, or its own shade of one.
#[test]
fn dtypes_have_different_colours() {
    let place = Place::new();
    place.put("m", &sound());
    let page = page(&place, "m", 0);
    let colours = Dtype::ALL.iter().map(|dtype| {
        let (_, rule) = page.split_once(&format!(".{dtype}{{")).expect("a style");
        rule.split('}').next().expect("its end")
    });
    assert_eq!(colours.collect::<BTreeSet<_>>().len(), Dtype::ALL.len());
}

/// Tensors too narrow to be seen are one column, with the colours of all their dtypes.
#[test]
fn the_map_shows_all_dtypes_of_neighbours() {
    let place = Place::new();
    let rows = (0..6000).map(|index| {
        let (dtype, bytes) = [("F32", 64), ("BF16", 32), ("F16", 32)][index % 3];
        (format!("t{index}"), dtype, vec![16], vec![0; bytes])
    });
    place.put_model("m", &rows.collect::<Vec<_>>());
    let page = page(&place, "m", 0);
    let (_, map) = page.split_once("<svg class=map").expect("a map");
    let (map, _) = map.split_once("</svg>").expect("a map");
    let columns = map.matches("<g>").count();
    assert!((100..=2001).contains(&columns), "{columns}");
    for class in ["F32", "BF16", "F16"] {
        let share = map.matches(&format!("<rect class={class} ")).count();
        assert!(share > columns * 9 / 10, "{class}: {share} of {columns}");
    }
    // Half of the bytes are F32, which is first everywhere.
    assert!(map.contains("<rect class=F32 ") && map.contains(" height=28.0 "), "{}", &map[..2000]);
    assert!(!map.contains("</title><rect class=BF16 ") && !map.contains("</title><rect class=F16 "));
}

#[test]
fn names_that_are_empty_or_long_can_be_read() {
    let place = Place::new();
    let long = "n".repeat(4000);
    let names = ["", ".x", "..", "a.b", "a.c", &long];
    let entries: Vec<String> =
        names.iter().zip(0..).map(|(name, index)| tensor(name, 8 * index, 8 * index + 8)).collect();
    let metadata = format!(r#""__metadata__":{{"k":"{}"}}"#, "é".repeat(2001));
    place.put("m", &file(format!("{{{metadata},{}}}", entries.join(",")), &[1; 48]));
    let page = page(&place, "m", 0);
    assert!(page.contains(&("é".repeat(2000) + "<span class=dim>… 4,002 bytes in all</span>")), "{page}");
    assert!(page.contains("<code>&quot;&quot;</code>: the name is empty"), "{page}");
    for name in ["&quot;&quot;", ".x", "..", "b", "c"] {
        assert!(page.contains(&format!("<div class=n>{name}</div>")), "{name}: {page}");
    }
    // Whole only where it is asked for, under the pointer.
    let shown = page.replace(&format!("title=\"{long}\""), "").replace(&format!("<title>{long}, "), "");
    assert!(!shown.contains(&"n".repeat(200)), "{page}");
    let tree = place.run(["inspect", "--tree", "m"]).out;
    for line in ["  \"\" ", "  .. ", "  .x ", "  a "] {
        assert!(tree.lines().any(|row| row.starts_with(line)), "{line}: {tree}");
    }
}

#[test]
fn shards_standard_input_and_json() {
    let place = Place::new();
    place.put("m", &sound());
    assert_eq!(place.run(["split", "m", "-o", "parts", "--max-size", "3"]).code, Some(0));
    let shards = page(&place, "parts", 0);
    assert!(shards.matches("<svg class=map").count() == 2 && shards.contains("in 2 files"), "{shards}");
    let piped = place.run_piped(["report", "-", "-o", "-"], &sound());
    assert!(piped.code == Some(0) && piped.out.starts_with("<!doctype html>"), "{piped:?}");
    let run = place.run(["report", "m", "-o", "new.html", "--json"]);
    let len = fs::metadata(place.path("new.html")).expect("a page").len();
    run.is(0, &format!("{{\"file\":\"m\",\"ok\":true,\"output\":\"new.html\",\"bytes\":{len}}}\n"), "");
    for name in ["x.safetensors", "x.npy", "x.NPZ", "x.json", "x.pdf"] {
        let error = format!("{name}: wrong suffix for an HTML page; use .html");
        place.refuses(&format!("report m -o {name}"), 2, &error);
    }
    for name in ["x.htm", "x.HTML", "x"] {
        place.done(["report", "m", "-o", name]);
    }
}
