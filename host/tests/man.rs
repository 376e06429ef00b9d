//! `safetensors man`: the man pages.
#![cfg(unix)]

use crate::support::{Place, command_names, finish};

#[test]
fn every_command_has_a_man_page() {
    let place = Place::new();
    let whole = place.run(["man"]);
    assert_eq!((whole.code, whole.err.as_str()), (Some(0), ""));
    for name in command_names().iter().filter(|name| *name != "help") {
        assert!(whole.out.contains(&format!("safetensors\\-{}", name.replace('-', "\\-"))), "{name}");
        let run = place.run(["man", name]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{name}");
        for part in [".TH safetensors-", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS"] {
            assert!(run.out.contains(part), "{name}: {part}");
        }
    }
    let [check, scan] = ["check", "scan"].map(|name| place.run(["man", name]).out);
    assert!(scan.contains(".SH \"EXIT STATUS\"") && scan.contains("Ctrl"), "{scan}");
    assert!(!["HF_TOKEN", "max\\-header", "servers"].iter().any(|word| scan.contains(word)), "{scan}");
    for page in [&whole.out, &check] {
        for part in
            [".SH \"EXIT STATUS\"", ".SH ENVIRONMENT", "HF_TOKEN", "SSL_CERT_FILE", "hf://", "https://"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(
            page.contains("Longest header that is read") && page.contains("How long a server may"),
            "{page}"
        );
    }
    let convert = place.run(["man", "convert"]).out;
    assert!(
        convert.contains("\\-\\-saturate") && convert.contains("\\fBsafetensors convert\\fR"),
        "{convert}"
    );
}

#[test]
fn an_unknown_command_is_bad_usage() {
    let run = Place::new().run(["man", "chekc"]);
    assert!(run.code == Some(2) && run.err.contains("[possible values: check, inspect, "), "{run:?}");
    assert!(run.err.contains("a similar value exists: 'check'"), "{run:?}");
}

#[test]
fn help_is_about_servers_where_they_are_read() {
    let place = Place::new();
    for name in command_names().iter().filter(|name| *name != "help") {
        let help = place.run([name, "--help"]).out;
        let is_local = ["completions", "fit", "flash", "man", "scan"].contains(&name.as_str());
        for word in ["hf://OWNER/NAME", "HF_TOKEN", "--max-header", "--server-timeout"] {
            assert_eq!(help.contains(word), !is_local, "{name}: {word}: {help}");
        }
    }
    // They are accepted, and have no effect.
    assert_eq!(place.run(["man", "check", "--max-header", "1MB"]).code, Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_is_full() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
    let run = finish(Place::new().command(["man"]).stdout(full));
    run.is(2, "", "safetensors: cannot write to standard output: no space left on device\n");
}
