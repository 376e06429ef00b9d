//! Constants for the program that cargo builds.

use crate::{Constants, EmitError};
use embedded_safetensors::{FileModel, tensor::MAX_RANK};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{env, fs, io};

/// Writes the constants of a model for the program that cargo builds, to `$OUT_DIR/NAME.rs` for a model
/// `NAME.safetensors`. Call it from `build.rs`. Cargo calls it again when the model has changed.
///
/// For other options use [`Constants::write_to_out_dir`]. Cargo shows a warning if a tensor has more than 8
/// dimensions, and so no query.
///
/// ```no_run
/// // build.rs
/// fn main() -> Result<(), safetensors_emit::EmitError> {
///     safetensors_emit::build("model.safetensors") // the path is relative to Cargo.toml
/// }
/// ```
///
/// # Errors
/// The model is missing or invalid, or in several files; another model has the same `NAME`; `OUT_DIR` is not
/// set; the output cannot be written. Returned from `main`, the error ends the build with one sentence.
pub fn build(model: impl AsRef<Path>) -> Result<(), EmitError> {
    Constants::of(&FileModel::open(model)?)?.write_to_out_dir()
}

impl Constants<'_> {
    /// Writes the constants for the program that cargo builds, as [`build`] does.
    ///
    /// ```no_run
    /// // build.rs
    /// use safetensors_emit::{Constants, EmitError, FileModel};
    ///
    /// fn main() -> Result<(), EmitError> {
    ///     Constants::of(&FileModel::open("model.safetensors")?)?.address(0x0806_0000)?.write_to_out_dir()
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`build`].
    pub fn write_to_out_dir(&self) -> Result<(), EmitError> {
        self.write_to(env::var_os("OUT_DIR"), &mut io::stdout())
    }

    /// As [`write_to_out_dir`](Self::write_to_out_dir), with the value of `OUT_DIR` and the output that cargo
    /// reads.
    fn write_to(&self, out_dir: Option<OsString>, cargo: &mut impl Write) -> Result<(), EmitError> {
        let directory = out_dir.ok_or(EmitError::NotInBuildScript)?;
        let model = self.model.path();
        let watched = model.to_str().filter(|path| is_one_line(path));
        let watched = watched.ok_or_else(|| EmitError::Unwatchable(model.to_path_buf()))?;
        let path = Path::new(&directory).join(model.with_extension("rs").file_name().unwrap_or_default());
        claim(&path, model)?;
        let mut text = Vec::new();
        let written = self
            .write_rust(&mut text)
            .and_then(|()| fs::write(&path, text))
            .and_then(|()| writeln!(cargo, "cargo:rerun-if-changed={watched}"))
            .and_then(|()| self.warn(watched, cargo));
        written.map_err(|error| EmitError::Output { path, error })
    }

    /// Tells cargo how many tensors have no query, if any.
    fn warn(&self, watched: &str, cargo: &mut impl Write) -> io::Result<()> {
        let (count, all) = (self.left_out(), self.tensors().count());
        if count == 0 {
            return Ok(());
        }
        let which = format!("tensors of more than {MAX_RANK} dimensions ({count} of {all})");
        writeln!(cargo, "cargo:warning={watched}: left out of the queries: {which}")
    }
}

/// Notes which model an output is for.
///
/// # Errors
/// [`EmitError::SameOutput`] when it is that of another model, which this one would overwrite.
fn claim(output: &Path, model: &Path) -> Result<(), EmitError> {
    static MODELS: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
    let first = models.entry(output.to_path_buf()).or_insert_with(|| model.to_path_buf());
    if *first == model {
        return Ok(());
    }
    let [output, first, second] = [output, first, model].map(Path::to_path_buf);
    Err(EmitError::SameOutput { output, models: [first, second] })
}

/// Cargo reads its instructions line by line, without the spaces at the end.
fn is_one_line(path: &str) -> bool {
    path.trim_end() == path && !path.contains(['\n', '\r'])
}

#[cfg(test)]
mod tests {
    use crate::tests::{MODEL, file};
    use crate::{Constants, EmitError, FileModel};
    use std::fs;
    use std::path::Path;

    /// What is written for a model of this name in the directory, and what cargo is told.
    fn built(directory: &Path, name: &str) -> Result<String, EmitError> {
        let (model, mut cargo) = (directory.join(name), Vec::new());
        fs::write(&model, file(MODEL, 6)).expect("a model");
        let out_dir = directory.as_os_str().to_owned();
        Constants::of(&FileModel::open(&model)?)?.write_to(Some(out_dir), &mut cargo)?;
        Ok(String::from_utf8(cargo).expect("text"))
    }

    #[test]
    fn the_output_has_the_name_of_the_model() {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, output) in [
            ("net.safetensors", "net.rs"),
            ("net.v2.st", "net.v2.rs"),
            ("kws", "kws.rs"),
            ("größe {0} $X \"q\"", "größe {0} $X \"q\".rs"),
        ] {
            let line = format!("cargo:rerun-if-changed={}\n", directory.path().join(name).display());
            assert_eq!(built(directory.path(), name).expect("it is built"), line);
            let text = fs::read_to_string(directory.path().join(output)).expect("the output");
            assert!(text.contains("pub const FC_WEIGHT: Tensor"), "{text}");
        }
    }

    #[test]
    fn cargo_warns_of_tensors_without_a_query() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("deep");
        fs::write(&path, file(&MODEL.replace("[2,3]", "[2,3,1,1,1,1,1,1,1]"), 6)).expect("a model");
        let (model, mut cargo) = (FileModel::open(&path).expect("it is valid"), Vec::new());
        let constants = Constants::of(&model).expect("its constants");
        constants.write_to(Some(directory.path().into()), &mut cargo).expect("it is written");
        let which = "left out of the queries: tensors of more than 8 dimensions (1 of 1)";
        let warning = format!("cargo:warning={}: {which}", path.display());
        let said = String::from_utf8(cargo).expect("text");
        assert_eq!(said.lines().nth(1), Some(warning.as_str()), "{said}");
        let text = fs::read_to_string(directory.path().join("deep.rs")).expect("the output");
        assert!(text.contains("/// All tensors but 1 of more than 8 dimensions, in data order."), "{text}");
    }

    #[test]
    fn errors_are_one_sentence() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("net");
        let shown = path.display();
        fs::write(&path, file(MODEL, 6)).expect("a model");
        let (model, nowhere) = (FileModel::open(&path).expect("it is valid"), directory.path().join("none"));
        let constants = Constants::of(&model).expect("its constants");
        let sentence = |out_dir: Option<&Path>| {
            let built = constants.write_to(out_dir.map(|path| path.into()), &mut Vec::new());
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

    #[test]
    fn models_in_several_files_must_be_joined() {
        let directory = tempfile::tempdir().expect("a directory");
        let index = directory.path().join("model.safetensors.index.json");
        fs::write(&index, r#"{"weight_map": {"a": "model-00001-of-00001.safetensors"}}"#).expect("an index");
        for path in [index.as_path(), directory.path()] {
            let sentence = super::build(path).expect_err("several files").to_string();
            let end =
                "is an index or a directory of several files, but a device needs one; use `safetensors join`";
            assert_eq!(sentence, format!("{}: {end}", path.display()));
        }
        fs::write(&index, file(MODEL, 6)).expect("a model");
        assert!(FileModel::open(&index).is_ok(), "a model may have any name");
        assert_eq!(
            super::build(&index).expect_err("no OUT_DIR").to_string(),
            "OUT_DIR is not set: call this from build.rs"
        );
    }

    #[test]
    fn two_models_do_not_share_an_output() {
        let directory = tempfile::tempdir().expect("a directory");
        built(directory.path(), "net.a").expect("the first");
        built(directory.path(), "net.a").expect("the first, again");
        let [first, second] =
            ["net.a", "net.b"].map(|name| directory.path().join(name).display().to_string());
        let sentence = built(directory.path(), "net.b").expect_err("another one").to_string();
        let output = directory.path().join("net.rs");
        let expected = format!("{}: written for {first}, and {second} has the same name", output.display());
        assert_eq!(sentence, expected + "; rename one of them");
    }

    #[cfg(unix)]
    #[test]
    fn paths_that_cargo_cannot_watch_are_rejected() {
        use std::os::unix::ffi::OsStrExt;
        let directory = tempfile::tempdir().expect("a directory");
        let latin = std::ffi::OsStr::from_bytes(b"gr\xf6\xdfe");
        for name in ["a\nb", "a\r", "a "].map(Path::new).into_iter().chain([Path::new(latin)]) {
            let path = directory.path().join(name);
            // Some file systems have no such names.
            if fs::write(&path, file(MODEL, 6)).is_ok() {
                let model = FileModel::open(&path).expect("it is valid");
                let built = Constants::of(&model).expect("its constants");
                let built = built.write_to(Some(directory.path().into()), &mut Vec::new());
                let sentence = built.expect_err("no output").to_string();
                assert!(sentence.starts_with("cargo cannot watch \""), "{sentence}");
                assert!(!sentence.contains('\n'), "{sentence}");
            }
        }
        assert!(super::is_one_line("a b") && !super::is_one_line("a\u{a0}"));
    }
}
