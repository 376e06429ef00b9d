//! The page of `safetensors report` in a browser: no errors, no requests, nothing wider than the window, and
//! everything there without JavaScript.

use super::suites::release_command;
use crate::process::Run;
use crate::report::{Outcome, Tally};
use crate::workspace;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The widths of a desktop and of a telephone, in pixels.
const WIDTHS: [u32; 2] = [1280, 400];

/// A name that is markup, quotes, changes the direction of text, and has a control character.
const EVIL: &str = r#"odd.<script>alert(1)</script>\"'&\u202eevil\u0007"#;
/// How the page shows a part of it.
const SHOWN: &str = "&lt;script&gt;alert(1)&lt;/script&gt;";

/// Unfolds everything, and tells the page around it what is wider than the window. What can be scrolled may
/// be.
const MEASURE: &str = r#"<script>addEventListener("load", () => {
  document.querySelectorAll("details").forEach((group) => (group.open = true));
  document.querySelectorAll("[aria-expanded=false]").forEach((row) => row.click());
  const canScroll = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX);
  const isInScroll = (element) => element && (canScroll(element) || isInScroll(element.parentElement));
  const sticksOut = (element) => {
    const { left, right, width } = element.getBoundingClientRect();
    return width > 0 && (right > innerWidth + 0.5 || left < -0.5) && !isInScroll(element.parentElement);
  };
  const wide = [...document.querySelectorAll("body *")].filter(sticksOut).slice(0, 3);
  const name = (element) => `${element.tagName}.${element.className}`;
  const told = wide.map((element) => `${name(element)}: ${element.textContent.slice(0, 40)}`);
  const scroll = document.documentElement.scrollWidth;
  parent.postMessage(["measured", innerWidth, scroll, encodeURIComponent(told.join("; "))].join(" "), "*");
})</script>"#;

/// A window of any width: those of the browser have at least 500 pixels.
const FRAME: &str = "<!doctype html><title>no message</title>\
    <script>onmessage = (message) => (document.title = message.data)</script>";

/// A page on which each check must fail.
const BAD: &str = "<!doctype html><meta charset=utf-8><meta name=old content=\"script-src 'x'\"><title>bad</title><div style=\"width:3000px\">wide</div>\
    <img src=\"http://127.0.0.1:8099/x.png\"><script>nowhere()</script>";

/// Runs all checks.
pub fn run() -> Outcome {
    let directory = workspace::target_dir().join("report");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut tally = Tally::of("the checks find what is wrong with a bad page", control(&directory));
    let command = release_command()?;
    for (name, model, exit, parts) in models() {
        let (model_path, page) = (directory.join(name), directory.join(format!("{name}.html")));
        workspace::write(&model_path, &model)?;
        let made = Run::new(&command).args(["report", "-o"]).args([&page, &model_path]).output()?;
        if made.status.code() != Some(exit) {
            tally.check(name, Err(format!("exit code {:?} instead of {exit}", made.status.code())));
            continue;
        }
        let browser = Browser { directory: &directory, page: &page };
        tally.check(&format!("{name}: no errors and no requests"), browser.is_quiet());
        tally.check(&format!("{name}: readable without JavaScript"), browser.has_without_scripts(parts));
        for width in WIDTHS {
            tally.check(&format!("{name}: nothing is wider than {width} pixels"), browser.fits(width));
            browser.picture(&directory.join(format!("{name}-{width}.png")))?;
        }
    }
    Ok(tally)
}

/// Models with their exit codes, and what their pages have.
fn models() -> [(&'static str, Vec<u8>, i32, &'static [&'static str]); 3] {
    let long = "a_name_without_any_break_".repeat(12);
    let words = "many words in the metadata, ".repeat(100);
    let metadata = format!(r#""__metadata__":{{"<b>":"{words}","long":"{long}","format":"pt"}}"#);
    let mut entries = vec![metadata];
    for index in 0..300_u64 {
        let name = match index {
            0 => EVIL.to_owned(),
            1 => long.clone(),
            index => format!("model.layers.{}.block.{}.weight", index / 10, index % 10),
        };
        let range = [index * 64, (index + 1) * 64];
        entries.push(format!(r#""{name}":{{"dtype":"F32","shape":[4,4],"data_offsets":{range:?}}}"#));
    }
    let numbers =
        (0..4800_u32).flat_map(|index| f32::from(u16::try_from(index % 97).unwrap_or(0)).to_le_bytes());
    let invalid = format!(r#"{{"{EVIL}":{{"dtype":"F9","shape":[2],"{long}":0,"data_offsets":[0,2]}}}}"#);
    [
        (
            "valid",
            file(&format!("{{{}}}", entries.join(",")), &numbers.collect::<Vec<u8>>()),
            0,
            &["4 × 4", SHOWN],
        ),
        ("empty", file("{}", &[]), 0, &["of header"]),
        ("invalid", file(&invalid, b"xx"), 1, &["error[dtype.unknown]", SHOWN]),
    ]
}

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

/// # Errors
/// A check accepts the bad page.
fn control(directory: &Path) -> Result<(), String> {
    let page = directory.join("bad.html");
    workspace::write(&page, BAD.as_bytes())?;
    let browser = Browser { directory, page: &page };
    let quiet = browser.is_quiet().err().unwrap_or_default();
    let fits = browser.fits(WIDTHS[0]).err().unwrap_or_default();
    let found = [
        ("an error", quiet.contains("nowhere is not defined")),
        ("a request", quiet.contains("http://127.0.0.1:8099/x.png")),
        ("a wide element", fits.contains("DIV")),
        ("a text that is not there", browser.has_without_scripts(&["not there"]).is_err()),
    ];
    match found.iter().find(|(_, is_found)| !is_found) {
        None => Ok(()),
        Some((what, _)) => Err(format!("{what} is not noticed: {quiet} {fits}")),
    }
}

/// Chromium with a page.
pub(super) struct Browser<'d> {
    pub directory: &'d Path,
    pub page: &'d Path,
}

impl Browser<'_> {
    /// Chromium without a window, with a profile of its own.
    pub fn open(&self, page: &Path, width: u32) -> Run {
        let profile = format!("--user-data-dir={}", self.directory.join("profile").display());
        let window = format!("--window-size={width},1600");
        let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"];
        let run = Run::new("chromium").args(flags).args([profile, window]).limit(120);
        run.args(["--enable-logging=stderr", "--virtual-time-budget=5000"])
            .args([format!("file://{}", page.display())])
    }

    /// Returns what the page has become, and what the browser said.
    pub fn dom(run: Run) -> Result<(String, String), String> {
        let output = run.args(["--dump-dom"]).capture()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(&output.stdout), text(&output.stderr)))
    }

    /// # Errors
    /// The page writes to the console, or requests something.
    pub fn is_quiet(&self) -> Result<(), String> {
        let log = self.directory.join("network.json");
        let run = self.open(self.page, WIDTHS[0]).args([format!("--log-net-log={}", log.display())]);
        let (_, said) = Self::dom(run)?;
        let lines = said.lines().filter(|line| line.contains(":CONSOLE:")).map(str::to_owned);
        let found: Vec<String> = lines.chain(requests(&log)?).collect();
        if found.is_empty() { Ok(()) } else { Err(found.join("; ")) }
    }

    /// # Errors
    /// Without JavaScript, one of these texts is not there.
    fn has_without_scripts(&self, parts: &[&str]) -> Result<(), String> {
        let page = fs::read_to_string(self.page).map_err(|error| error.to_string())?;
        // The policy without its hash forbids the script of the page.
        let (before, rest) = page.split_once("script-src '").ok_or("the page has no policy")?;
        let (_, after) = rest.split_once('\'').ok_or("the page has no policy")?;
        let mute = self.directory.join("mute.html");
        workspace::write(&mute, format!("{before}script-src 'none'{after}").as_bytes())?;
        let (dom, _) = Self::dom(self.open(&mute, WIDTHS[0]))?;
        if dom.contains("class=\"tools\"") {
            return Err("the script of the page has run".to_owned());
        }
        match parts.iter().find(|part| !dom.contains(**part)) {
            None => Ok(()),
            Some(part) => Err(format!("{part} is missing")),
        }
    }

    /// # Errors
    /// Something is wider than the window.
    pub fn fits(&self, width: u32) -> Result<(), String> {
        let page = fs::read_to_string(self.page).map_err(|error| error.to_string())?;
        // The policy of the page would forbid this script.
        let open = page.replace("http-equiv=Content-Security-Policy", "name=policy");
        let measured = self.directory.join("measured.html");
        workspace::write(&measured, format!("{open}{MEASURE}").as_bytes())?;
        let frame =
            format!("{FRAME}<iframe src=measured.html width={width} height=1600 style=border:0></iframe>");
        let framed = self.directory.join("framed.html");
        workspace::write(&framed, frame.as_bytes())?;
        let (dom, _) = Self::dom(self.open(&framed, WIDTHS[0] + 100))?;
        let told = dom.split_once("<title>measured ").and_then(|(_, rest)| rest.split_once("</title>"));
        let (told, _) = told.ok_or("the script that measures has not run")?;
        let words: Vec<&str> = told.split(' ').collect();
        let expected = width.to_string();
        match words[..] {
            [inner, scroll, ..] if inner != expected || scroll != expected => {
                Err(format!("a window of {inner} pixels has a page of {scroll}: {told}"))
            }
            [_, _] | [_, _, ""] => Ok(()),
            _ => Err(told.to_owned()),
        }
    }

    /// Leaves a picture of a framed page, for people.
    pub fn picture(&self, path: &Path) -> Result<(), String> {
        self.open(&self.directory.join("framed.html"), WIDTHS[0] + 100)
            .args([format!("--screenshot={}", path.display())])
            .capture()
            .map(drop)
    }
}

/// What the page itself has requested: the browser's own requests have no origin.
fn requests(log: &PathBuf) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let log: Value =
        serde_json::from_str(&text).map_err(|error| format!("the log of the network: {error}"))?;
    let events = log["events"].as_array().ok_or("the log of the network has no events")?;
    let own = events.iter().map(|event| &event["params"]);
    let own = own.filter(|params| params["initiator"].as_str().is_some_and(|from| from != "not an origin"));
    let urls = own.filter_map(|params| params["url"].as_str());
    Ok(urls.filter(|url| !url.starts_with("file:")).map(str::to_owned).collect())
}
