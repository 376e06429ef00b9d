//! Constants for the program that cargo builds.

use crate::{Constants, EmitError};
use embedded_safetensors::FileModel;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::{env, fs, io};

/// Writes the constants of a model for the program that cargo builds, to `$OUT_DIR/NAME.rs` for a model
/// `NAME.safetensors`. Call it from `build.rs`. Cargo calls it again when the model has changed.
///
/// For other options use [`Constants::build`].
///
/// ```no_run
/// // build.rs
/// fn main() -> Result<(), safetensors_emit::EmitError> {
///     safetensors_emit::build("model.safetensors") // the path is relative to Cargo.toml
/// }
/// ```
///
/// # Errors
/// The model is missing or invalid; `OUT_DIR` is not set; the output cannot be written. Returned from `main`,
/// the error ends the build with one sentence.
pub fn build(model: impl AsRef<Path>) -> Result<(), EmitError> {
    Constants::of(&FileModel::open(model)?)?.build()
}

impl Constants<'_> {
    /// Writes the constants for the program that cargo builds, as [`build`] does.
    ///
    /// ```no_run
    /// // build.rs
    /// use safetensors_emit::{Constants, EmitError, FileModel};
    ///
    /// fn main() -> Result<(), EmitError> {
    ///     Constants::of(&FileModel::open("model.safetensors")?)?.address(0x0806_0000)?.build()
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`build`].
    pub fn build(&self) -> Result<(), EmitError> {
        self.build_in(env::var_os("OUT_DIR"), &mut io::stdout())
    }

    /// As [`build`](Self::build), with the value of `OUT_DIR` and the output that cargo reads.
    fn build_in(&self, out_dir: Option<OsString>, cargo: &mut impl Write) -> Result<(), EmitError> {
        let folder = out_dir.ok_or(EmitError::NotInBuildScript)?;
        let model = self.model.path();
        let watched = model.to_str().filter(|path| is_one_line(path));
        let watched = watched.ok_or_else(|| EmitError::Unwatchable(model.to_path_buf()))?;
        let path = Path::new(&folder).join(model.with_extension("rs").file_name().unwrap_or_default());
        let mut text = Vec::new();
        let written = self
            .write_rust(&mut text)
            .and_then(|()| fs::write(&path, text))
            .and_then(|()| writeln!(cargo, "cargo:rerun-if-changed={watched}"));
        written.map_err(|error| EmitError::Output { path, error })
    }
}

/// Cargo reads its instructions line by line, without the spaces at the end.
fn is_one_line(path: &str) -> bool {
    path.trim_end() == path && !path.contains(['\n', '\r'])
}

#[cfg(test)]
mod tests {
    use super::is_one_line;
    use crate::tests::{MODEL, file};
    use crate::{Constants, EmitError, FileModel};
    use std::fs;
    use std::path::Path;

    /// What is written for a model of this name in the directory, and what cargo is told.
    fn built(folder: &Path, name: &str) -> Result<String, EmitError> {
        let (model, mut cargo) = (folder.join(name), Vec::new());
        fs::write(&model, file(MODEL, 6)).expect("a model");
        let out_dir = folder.as_os_str().to_owned();
        Constants::of(&FileModel::open(&model)?)?.build_in(Some(out_dir), &mut cargo)?;
        Ok(String::from_utf8(cargo).expect("text"))
    }

    #[test]
    fn the_output_has_the_name_of_the_model() {
        let folder = tempfile::tempdir().expect("a directory");
        for (name, output) in [
            ("net.safetensors", "net.rs"),
            ("net.v2.st", "net.v2.rs"),
            ("net", "net.rs"),
            ("größe {0} $X \"q\"", "größe {0} $X \"q\".rs"),
        ] {
            let line = format!("cargo:rerun-if-changed={}\n", folder.path().join(name).display());
            assert_eq!(built(folder.path(), name).expect("it is built"), line);
            let text = fs::read_to_string(folder.path().join(output)).expect("the output");
            assert!(text.contains("pub const FC_WEIGHT: Tensor"), "{text}");
        }
    }

    #[test]
    fn errors_are_one_sentence() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("net");
        let shown = path.display();
        fs::write(&path, file(MODEL, 6)).expect("a model");
        let (model, nowhere) = (FileModel::open(&path).expect("it is valid"), folder.path().join("none"));
        let constants = Constants::of(&model).expect("its constants");
        let sentence = |out_dir: Option<&Path>| {
            let built = constants.build_in(out_dir.map(|path| path.into()), &mut Vec::new());
            format!("{:?}", built.expect_err("no output"))
        };
        assert_eq!(sentence(None), "OUT_DIR is not set: call this from build.rs");
        let expected = format!("cannot write {}: ", nowhere.join("net.rs").display());
        assert!(sentence(Some(&nowhere)).starts_with(&expected), "{}", sentence(Some(&nowhere)));
        let missing = super::build(&nowhere).expect_err("no model").to_string();
        assert!(missing.starts_with(&format!("cannot open {}: ", nowhere.display())), "{missing}");
        fs::write(&path, file(MODEL, 5)).expect("a shorter model");
        let invalid = super::build(&path).expect_err("it is too short").to_string();
        assert!(invalid.starts_with(&format!("{shown}: ")) && invalid.lines().count() == 1, "{invalid}");
        let changed = Constants::of(&model).err().expect("it has changed").to_string();
        assert_eq!(changed, format!("{shown}: it has changed since it was opened"));
    }

    #[cfg(unix)]
    #[test]
    fn paths_that_cargo_cannot_watch_are_rejected() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().expect("a directory");
        let latin = std::ffi::OsStr::from_bytes(b"gr\xf6\xdfe");
        for name in ["a\nb", "a\r", "a "].map(Path::new).into_iter().chain([Path::new(latin)]) {
            let path = folder.path().join(name);
            // Some file systems have no such names.
            if fs::write(&path, file(MODEL, 6)).is_ok() {
                let model = FileModel::open(&path).expect("it is valid");
                let built = Constants::of(&model).expect("its constants");
                let built = built.build_in(Some(folder.path().into()), &mut Vec::new());
                let sentence = built.expect_err("no output").to_string();
                assert!(sentence.starts_with("cargo cannot watch \""), "{sentence}");
                assert!(!sentence.contains('\n'), "{sentence}");
            }
        }
        assert!(is_one_line("a b") && !is_one_line("a\u{a0}"));
    }
}
