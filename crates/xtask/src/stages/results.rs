//! The page with the results of readers in a browser: no errors, no requests, nothing wider than the window,
//! nothing of the data becomes markup, and its filters and rows work.

use super::report::Browser;
use super::suites::release_command;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::workspace;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

const PAGE: &str = "tests/vectors/RESULTS.html";
const TEMPLATE: &str = "tests/vectors/page.html";
/// Before the data, which the template does not have.
const BEFORE: &str = "<script type=\"application/json\" id=\"data\">";
/// The widths of a desktop, of a narrow window and of a telephone, in pixels.
const WIDTHS: [u32; 3] = [1280, 980, 400];

/// Ends the element that it is in, unless it is escaped, and is an image that runs a script.
const EVIL: &str = "</script><img src=x onerror=alert(1)><b>&amp;'\"\u{202e}evil";
/// How the page shows its beginning.
const SHOWN: &str = "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;";

/// Uses the page as a reader would, and says in the title what has not worked.
const USE: &str = r##"<script>addEventListener("load", () => {
  const failed = [];
  const check = (what, holds) => holds || failed.push(what);
  const list = () => [...document.querySelectorAll(".vector")];
  const found = () => document.getElementById("found").textContent;
  const set = (index, value) => {
    const input = document.querySelectorAll("#filters input, #filters select")[index];
    input.value = value;
    input.dispatchEvent(new Event("input"));
    return input.value === value;
  };
  check("all vectors are shown", list().length === 3 && found() === "3 of 3 vectors");
  const row = list()[1].querySelector(".row");
  row.click();
  const body = list()[1].querySelector(".body");
  const parts = ["invalid/second.safetensors", "7b 7d", "{}", "The rule of rules", "Two mistakes", "What the flag means", "other 2", "must reject", "valid. Why it is not close."];
  parts.forEach((part) => check(`the row unfolds with ${part}`, body?.textContent.includes(part)));
  check("the byte of the error is marked", body?.querySelectorAll("mark").length === 2);
  check("a file of a recipe", set(0, "<img") && (list()[0].firstChild.click(), list()[0].textContent.includes("made by its recipe")) && set(0, ""));
  row.click();
  check("the row folds", body?.hidden);
  check("a text is found", set(0, "TWO MIS") && list().length === 1);
  check("nothing is found", set(0, "no such text") && list().length === 0 && set(0, ""));
  check("a verdict", set(1, "valid") && list().length === 1 && set(1, ""));
  check("a rule", set(2, "text-2") && list().length === 1 && set(2, ""));
  const meaning = document.getElementById("meaning");
  check("a flag", set(3, "bom") && list().length === 1 && meaning.textContent === "bom: What the flag means" && !meaning.hidden);
  check("no flag", set(3, "") && meaning.hidden);
  check("the signs have numbers", document.getElementById("numbers").textContent === "12");
  check("a reader alone", set(4, "1") && list().length === 1 && location.hash === "#reader=1&answer=differs");
  const sign = list()[0].querySelector(".strip").textContent;
  check("its answer has a name", sign === "\u00d7 wrong" && document.getElementById("numbers").textContent === "other 2");
  row.click();
  [...body.querySelectorAll("button")].find((button) => button.textContent === "first")?.click();
  const twin = list()[1]?.textContent ?? "";
  check("the twin unfolds below", list().length === 2 && twin.startsWith("valid") && twin.includes("7b 7d"));
  check("it keeps the filter", location.hash === "#reader=1&answer=differs" && set(5, "differs") && list().length === 1);
  check("all answers of a reader", set(5, "") && list().length === 2 && list()[0].textContent.includes("\u00b7 right"));
  check("no reader", set(4, "") && list().length === 3);
  check("a reader and its answers", set(4, "1") && set(5, "wrong") && list().length === 1);
  check("the address has the filter", location.hash === "#reader=1&answer=wrong");
  [...document.querySelectorAll("#sums button")].find((button) => button.textContent === "2")?.click();
  check("a sum shows its vectors", list().length === 2 && location.hash === "#reader=0&answer=right");
  check("crashes are not named", ![...document.querySelectorAll("#sums button")].some((button) => button.textContent === "7"));
  data.vectors.forEach((vector) => { vector.answers[1] = "not asked"; });
  check("a reader whose answers are not listed", set(4, "1") && found().startsWith("The answers of this reader are counted"));
  document.title = failed.length ? `failed: ${failed.join("; ")}` : "all works";
})</script>"##;

/// A page of one reader begins with what it is not right about.
const USE_SINGLE: &str = r##"<script>addEventListener("load", () => {
  const works = document.querySelectorAll(".vector").length === 1 && location.hash === "#answer=differs";
  document.title = works ? "all works" : `failed: ${location.hash}`;
})</script>"##;

/// The same in a narrow window, which has no room for columns.
const USE_NARROW: &str = r##"<script>addEventListener("load", () => {
  const shown = (element) => getComputedStyle(element).display !== "none";
  const [first, second] = document.querySelectorAll(".vector .row");
  const names = [first, second].map((row) => row.querySelector(".names"));
  const works = names.every(shown) && !shown(first.querySelector(".strip")) && !shown(document.getElementById("signs"))
    && names[0].textContent === "2 of 2 right" && names[1].textContent === "1 of 2 right. \u00d7 wrong: other 2";
  document.title = works ? "all works" : `failed: ${names.map((name) => name.textContent).join("; ")}`;
})</script>"##;

/// Runs all checks.
pub fn run() -> Outcome {
    let directory = workspace::target_dir().join("results");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let template = text(TEMPLATE)?;
    let (made, single) = (directory.join("made.html"), directory.join("single.html"));
    workspace::write(&made, filled(&template, &example(2))?.as_bytes())?;
    workspace::write(&single, filled(&template, &example(1))?.as_bytes())?;
    let committed = workspace::root().join(PAGE);
    let of_command = directory.join("command.html");
    write_by_command(&of_command)?;
    let mut tally = Tally::of("the page is used", is_usable(&directory, &made, USE, WIDTHS[0]));
    tally.check("it has names in a narrow window", is_usable(&directory, &made, USE_NARROW, WIDTHS[2]));
    tally.check("one reader has its faults first", is_usable(&directory, &single, USE_SINGLE, WIDTHS[0]));
    tally.check("the committed page has today's template", is_new(&template, &text(PAGE)?));
    tally.check("a vector is linked to", is_linked(&directory, &made));
    tally.check("the checks find what does not work", control(&directory, &made));
    let pages = [("comparison", &committed), ("made", &made), ("single", &single), ("command", &of_command)];
    for (name, page) in pages {
        let browser = Browser { directory: &directory, page };
        tally.check(&format!("{name}: no errors and no requests"), browser.is_quiet());
        tally.check(
            &format!("{name}: nothing of the data is markup"),
            is_escaped(&browser, page == &committed),
        );
        for width in WIDTHS {
            tally.check(&format!("{name}: nothing is wider than {width} pixels"), browser.fits(width));
            browser.picture(&directory.join(format!("{name}-{width}.png")))?;
        }
    }
    Ok(tally)
}

fn text(path: &str) -> Result<String, String> {
    workspace::read(&workspace::root().join(path)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Fills the template as every program must.
fn filled(template: &str, data: &Value) -> Result<String, String> {
    let place = format!("{BEFORE}{{}}");
    let (before, after) = template.split_once(&place).ok_or("the template has no place for data")?;
    Ok(format!("{before}{BEFORE}{}{after}", data.to_string().replace('<', "\\u003c")))
}

/// Three vectors, and this many readers.
fn example(readers: usize) -> Value {
    let long = "a_name_without_any_break_".repeat(12);
    let vector = |id: &str, verdict: &str, rule: &str, reason: &str, flag: &str, answers: [&str; 2]| {
        let texts = [EVIL, "must reject, but did accept"];
        json!({"id": id, "verdict": verdict, "source": "text", "ours": "accept", "rule": rule, "reason": reason,
            "flags": [flag], "level": "core", "code": "json.syntax", "at": 9, "length": 10,
            "hex": "02000000000000007b7d", "answers": answers[..readers], "texts": texts[..readers]})
    };
    let mut second = vector("second", "invalid", "text-1", "Two mistakes", "bom", ["right", "wrong"]);
    second["file"] = "invalid/second.safetensors".into();
    second["twin"] = "first".into();
    second["twin_differs"] = "Why it is not close.".into();
    let sums = json!({"right": 2, "wrong": 0, "not shown": 1, "crash": 7, "hang": 0, "bad output": 0, "rules": [1, 2]});
    let all = [
        json!({"name": EVIL, "version": "1", "kind": "full", "date": "2026-01-01", "how": EVIL, "sums": sums}),
        json!({"name": "other", "version": "2", "kind": "header-only", "date": "2026-01-01", "how": long}),
    ];
    json!({"suite": "1.0.0", "date": "2026-01-01", "readers": all[..readers],
    "rules": {"text-1": {"source": "text", "rule": "The rule of rules"}, "text-2": {"source": "json", "rule": EVIL}},
    "flags": {"bom": "What the flag means", "evil": EVIL},
    "vectors": [
        vector("first", "valid", "text-1", &long, "evil", ["right", "right"]),
        second,
        vector(EVIL, "either", "text-2", EVIL, "evil", ["not shown", "not asked"]),
    ]})
}

/// Returns the title after a script has run in a page without its policy, which would forbid the script.
fn title_after(directory: &Path, page: &Path, script: &str, width: u32) -> Result<String, String> {
    let page = workspace::read(page).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())?;
    let open = page.replace("http-equiv=Content-Security-Policy", "name=policy");
    let used = directory.join("used.html");
    workspace::write(&used, format!("{open}{script}").as_bytes())?;
    let browser = Browser { directory, page: &used };
    let (dom, _) = Browser::dom(browser.open(&used, width))?;
    let title = dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    Ok(title.ok_or("the page has no title")?.0.to_owned())
}

fn is_usable(directory: &Path, page: &Path, script: &str, width: u32) -> Result<(), String> {
    match title_after(directory, page, script, width)? {
        title if title == "all works" => Ok(()),
        title => Err(title),
    }
}

/// Lets the command write a page, about a reader whose name is markup.
fn write_by_command(page: &Path) -> Result<(), String> {
    let command = release_command()?;
    let reader = ["--", "sh", "-c", "\"$0\" decode"].map(OsStr::new);
    let run = Run::new(&command).args(["conform", "--level", "lite", "--page"]).args([page]).args(reader);
    run.args([&command]).args([EVIL]).limit(300).capture().map(drop)
}

/// # Errors
/// A page differs from the template outside its data.
fn is_new(template: &str, page: &str) -> Result<(), String> {
    let (before, rest) = page.split_once(BEFORE).ok_or("it has no data")?;
    let (_, after) = rest.split_once("</script>").ok_or("its data does not end")?;
    match template == format!("{before}{BEFORE}{{}}</script>{after}") {
        true => Ok(()),
        false => Err("it does not: python3 tests/vectors/results.py --again".to_owned()),
    }
}

/// # Errors
/// A page whose address names a vector does not show it unfolded.
fn is_linked(directory: &Path, page: &Path) -> Result<(), String> {
    let browser = Browser { directory, page };
    let address = format!("{}#text=second", page.display());
    let (dom, _) = Browser::dom(browser.open(Path::new(&address), WIDTHS[0]))?;
    match dom.contains("1 of 3 vectors") && dom.contains("class=\"body\"") {
        true => Ok(()),
        false => Err("it is not unfolded".to_owned()),
    }
}

/// # Errors
/// A check accepts a page whose script has been changed, or whose data is not escaped.
fn control(directory: &Path, made: &Path) -> Result<(), String> {
    let page = workspace::read(made).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())?;
    let bad = directory.join("bad.html");
    workspace::write(&bad, page.replace("\"use strict\";", "").as_bytes())?;
    if (Browser { directory, page: &bad }).is_quiet().is_ok() {
        return Err("a script that the policy forbids is not noticed".to_owned());
    }
    workspace::write(&bad, page.replace("\\u003c", "<").as_bytes())?;
    if is_escaped(&Browser { directory, page: &bad }, false).is_ok() {
        return Err("data that is markup is not noticed".to_owned());
    }
    let title = title_after(directory, made, &USE.replace("3 of 3", "4 of 4"), WIDTHS[0])?;
    match title.starts_with("failed: all vectors") {
        true => Ok(()),
        false => Err("a number that is wrong is not noticed".to_owned()),
    }
}

/// # Errors
/// A part of the data has become an element, or is not shown. The vectors themselves have no such data.
fn is_escaped(browser: &Browser<'_>, is_committed: bool) -> Result<(), String> {
    let (dom, _) = Browser::dom(browser.open(browser.page, WIDTHS[0]))?;
    let data = dom.split_once(BEFORE).and_then(|(_, rest)| rest.split_once("</script>"));
    let dom = dom.replace(data.ok_or("the page has no data")?.0, "");
    match () {
        () if dom.contains('\u{202e}') => Err("a character changes the direction of text".to_owned()),
        () if dom.contains("<img") => Err("an image of the data is an element".to_owned()),
        () if !is_committed && !dom.contains(SHOWN) => Err(format!("{SHOWN} is missing")),
        () if !dom.contains("id=\"sums\"") => Err("the page has no sums".to_owned()),
        () => Ok(()),
    }
}
