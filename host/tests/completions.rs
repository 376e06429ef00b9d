//! `safetensors completions` and `safetensors man`: scripts that complete the command, and man pages.
#![cfg(unix)]

use crate::support::{Place, command_names, finish};
use std::process::{Command, Stdio};

#[test]
fn every_shell_completes_every_command() {
    let (place, names) = (Place::new(), command_names());
    assert!(names.len() > 12, "{names:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.done(["completions", shell]).out;
        for name in &names {
            assert!(script.contains(name.as_str()), "{shell} does not know {name}");
        }
    }
}

/// Nothing means that bash offers files.
#[test]
fn bash_completes_commands_values_and_files() {
    let place = Place::new();
    place.put("script", place.run(["completions", "bash"]).out.as_bytes()).put("Bad", b"");
    for (words, last, completed) in [
        ("safetensors", "insp", "inspect"),
        ("safetensors", "chec", "check checkpoint"),
        ("safetensors", "xyz", ""),
        ("safetensors check", "", ""),
        ("safetensors inspect", "mod", ""),
        ("safetensors check", "--fi", "--finite"),
        ("safetensors man", "insp", "inspect"),
        ("safetensors lint --allow", "name.s", "name.slash name.space"),
        ("safetensors convert --to", "B", "BF16"),
        ("safetensors convert --to", "bf", "BF16"),
        ("safetensors inspect", "--filt", "--filter"),
    ] {
        let before = words.rsplit(' ').next().unwrap_or("");
        let count = words.split(' ').count();
        let script = format!(
            "source ./script; COMP_WORDS=({words} '{last}'); COMP_CWORD={count}; _safetensors safetensors '{last}' \
             '{before}'; echo \"${{COMPREPLY[*]}}\""
        );
        let mut bash = Command::new("bash");
        let run = finish(bash.args(["-c", &script]).current_dir(place.path(".")).stdin(Stdio::null()));
        run.is(0, &format!("{completed}\n"), "");
    }
}

#[test]
fn every_command_has_a_man_page() {
    let place = Place::new();
    let whole = place.done(["man"]).out;
    for name in command_names().iter().filter(|name| *name != "help") {
        assert!(whole.contains(&format!("safetensors\\-{name}")), "{name}");
        let page = place.done(["man", name]).out;
        for part in [".TH safetensors-", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS"] {
            assert!(page.contains(part), "{name}: {part}");
        }
    }
    let [check, scan] = ["check", "scan"].map(|name| place.done(["man", name]).out);
    assert!(scan.contains(".SH \"EXIT STATUS\"") && scan.contains("Ctrl"), "{scan}");
    for part in
        [".SH ENVIRONMENT", "HF_TOKEN", "SSL_CERT_FILE", "hf://", "https://", "Longest header that is read"]
    {
        assert!(whole.contains(part) && check.contains(part) && !scan.contains(part), "{part}");
    }
    let convert = place.done(["man", "convert"]).out;
    assert!(
        convert.contains("\\-\\-saturate") && convert.contains("\\fBsafetensors convert\\fR"),
        "{convert}"
    );
    // Options of servers are accepted, and have no effect.
    place.done(["man", "check", "--max-header", "1MB"]);
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
}
