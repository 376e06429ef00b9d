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
    for page in [&whole.out, &place.run(["man", "check"]).out] {
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
    let error = "safetensors: no command \"chekc\"; did you mean \"check\"?\n";
    Place::new().run(["man", "chekc"]).is(2, "", error);
    // No command is similar.
    Place::new().run(["man", "nope"]).is(2, "", "safetensors: no command \"nope\"\n");
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_is_full() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
    let run = finish(Place::new().command(["man"]).stdout(full));
    run.is(2, "", "safetensors: cannot write to standard output: no space left on device\n");
}
