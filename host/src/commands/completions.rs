//! `safetensors completions`: prints shell completion scripts.

use super::{Context, Exit, Outcome, Run, command_line};
use clap_complete::{Shell, generate};
use std::io::{Write, stdout};

/// Print a shell completion script
///
/// For bash: safetensors completions bash > ~/.local/share/bash-completion/completions/safetensors
#[derive(clap::Args)]
pub struct Completions {
    /// Shell to complete for
    shell: Shell,
}

impl Run for Completions {
    fn run(self, _: &Context) -> Outcome {
        let mut script = Vec::new();
        generate(self.shell, &mut command_line(), "safetensors", &mut script);
        if self.shell == Shell::Bash {
            script = for_bash(&String::from_utf8_lossy(&script)).into_bytes();
        }
        stdout().write_all(&script)?;
        Ok(Exit::Good)
    }
}

/// The generated script offers options, and placeholders such as `<FILE>`, where a file is wanted. Here they
/// are offered after a hyphen; otherwise the values of an argument, without which bash offers files. Names
/// of dtypes are completed in any case.
fn for_bash(script: &str) -> String {
    let mut text = String::new();
    for line in script.lines() {
        let words = line.trim_start().strip_prefix("opts=\"").and_then(|words| words.strip_suffix('"'));
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            let (options, others): (Vec<&str>, Vec<&str>) =
                words.split(' ').partition(|word| word.starts_with('-'));
            let is_value = |word: &&&str| word.starts_with(|letter: char| letter.is_ascii_alphanumeric());
            let others: Vec<&str> = others.iter().filter(is_value).copied().collect();
            let (options, others) = (options.join(" "), others.join(" "));
            text += &format!("            opts=\"{options}\"\n");
            text += &format!("            [[ ${{cur}} == -* ]] || opts=\"{others}\"\n");
            continue;
        }
        let is_of_dtypes = line.contains("compgen -W \"") && line.contains(" BF16 ");
        match is_of_dtypes {
            true => text += &line.replace("\"${cur}\"", "\"$(tr a-z A-Z <<< \"${cur}\")\""),
            false => text += line,
        }
        text.push('\n');
    }
    text
}
