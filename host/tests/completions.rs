//! `safetensors completions`: scripts that complete the command.
#![cfg(unix)]

use crate::support::{Place, command_names, finish};
use std::process::{Command, Stdio};

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

#[test]
fn every_shell_completes_every_command() {
    let place = Place::new();
    let names = command_names();
    assert!(names.len() > 12, "{names:?}");
    for shell in SHELLS {
        let run = place.run(["completions", shell]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{shell}");
        for name in &names {
            assert!(run.out.contains(name.as_str()), "{shell} does not know {name}");
        }
    }
}

#[test]
fn bash_completes() {
    let place = Place::new();
    place.put("script", place.run(["completions", "bash"]).out.as_bytes());
    for (typed, completed) in [("insp", "inspect"), ("chec", "check checkpoint"), ("xyz", "")] {
        let script = format!(
            "source ./script; COMP_WORDS=(safetensors {typed}); COMP_CWORD=1; _safetensors safetensors \
             {typed} safetensors; echo \"${{COMPREPLY[*]}}\""
        );
        let run = finish(
            Command::new("bash").args(["-c", &script]).current_dir(place.path(".")).stdin(Stdio::null()),
        );
        run.is(0, &format!("{completed}\n"), "");
    }
}

#[test]
fn bash_completes_dtypes() {
    let place = Place::new();
    place.put("script", place.run(["completions", "bash"]).out.as_bytes()).put("Bad", b"");
    let script = "source ./script; COMP_WORDS=(safetensors convert --to B); COMP_CWORD=3; \
        _safetensors safetensors B --to; echo \"${COMPREPLY[*]}\"";
    let run =
        finish(Command::new("bash").args(["-c", script]).current_dir(place.path(".")).stdin(Stdio::null()));
    run.is(0, "BF16\n", "");
}

/// Nothing means that bash offers files.
#[test]
fn bash_completes_values_and_files() {
    let place = Place::new();
    place.put("script", place.run(["completions", "bash"]).out.as_bytes()).put("model", b"");
    for (words, last, completed) in [
        ("safetensors check", "", ""),
        ("safetensors inspect", "mod", ""),
        ("safetensors check", "--fi", "--finite"),
        ("safetensors man", "insp", "inspect"),
        ("safetensors lint --allow", "name.s", "name.slash name.space"),
        ("safetensors convert --to", "bf", "BF16"),
        ("safetensors inspect", "--filt", "--filter"),
    ] {
        let before = words.rsplit(' ').next().unwrap_or("");
        let (count, script) = (words.split(' ').count(), "source ./script");
        let script = format!(
            "{script}; COMP_WORDS=({words} '{last}'); COMP_CWORD={count}; _safetensors safetensors '{last}' \
             '{before}'; echo \"${{COMPREPLY[*]}}\""
        );
        let mut bash = Command::new("bash");
        let run = finish(bash.args(["-c", &script]).current_dir(place.path(".")).stdin(Stdio::null()));
        run.is(0, &format!("{completed}\n"), "");
    }
}

#[test]
fn an_unknown_shell_is_bad_usage() {
    let run = Place::new().run(["completions", "cmd.exe"]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{run:?}");
    assert!(run.err.contains("bash, elvish, fish, powershell, zsh"), "{run:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_is_full() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
    let run = finish(Place::new().command(["completions", "zsh"]).stdout(full));
    run.is(2, "", "safetensors: cannot write to standard output: no space left on device\n");
}
