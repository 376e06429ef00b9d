//! Sets up virtual environments of Python, each with the packages of one `requirements.txt`.

use crate::process::Run;
use crate::{machine, workspace};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Seconds for the packages of one environment: some have hundreds of megabytes.
const DOWNLOAD: u64 = 20 * 60;

/// The Python that an environment is made of.
#[derive(Clone, Copy)]
pub enum Base {
    /// The first one on the search path, without its packages.
    Any,
    /// Debian's with its packages, one of which has this module.
    Debian { module: &'static str, packages: &'static [&'static str] },
}

/// Debian's with PyTorch for CPUs.
pub const TORCH: Base =
    Base::Debian { module: "torch", packages: &["python3-torch", "python3-numpy", "python3-venv"] };

impl Base {
    fn program(self) -> &'static str {
        match self {
            Self::Any => "python3",
            Self::Debian { .. } => "/usr/bin/python3",
        }
    }

    fn need(self) -> Result<(), String> {
        let imports = |modules: &str| Run::new(self.program()).args(["-c", modules]).capture().is_ok();
        match self {
            // Debian has a part of `venv` in a package of its own.
            Self::Any => machine::need("python3 with its module venv", &["python3", "python3-venv"], || {
                imports("import ensurepip, venv")
            }),
            Self::Debian { module, packages } => {
                let what = format!("Debian's python3 with its modules venv and {module}");
                machine::need(&what, packages, || imports(&format!("import ensurepip, venv, {module}")))
            }
        }
    }
}

/// Returns Debian's Python, once it has torch.
pub fn debian_with_torch() -> Result<&'static str, String> {
    TORCH.need().map(|()| TORCH.program())
}

/// Returns a Python with just the packages of `requirements.txt` in `folder`, in the target directory under
/// this name. It is set up once.
pub fn environment(name: &str, folder: &Path) -> Result<PathBuf, String> {
    environment_of(Base::Any, name, folder)
}

/// As [`environment`], made of this Python.
pub fn environment_of(base: Base, name: &str, folder: &Path) -> Result<PathBuf, String> {
    shared_environment(base, name, &[folder])
}

/// As [`environment_of`], with the packages of several directories. Versions of later ones replace others.
pub fn shared_environment(base: Base, name: &str, folders: &[&Path]) -> Result<PathBuf, String> {
    // Held until the set-up is done: another thread may need the same environment.
    static SET_UP: Mutex<()> = Mutex::new(());
    let _held = SET_UP.lock().map_err(|_| "an earlier set-up of a Python panicked".to_owned())?;
    let home = workspace::target_dir().join(name);
    let python = home.join("bin/python3");
    let lists: Vec<PathBuf> = folders.iter().map(|folder| folder.join("requirements.txt")).collect();
    let contents = lists.iter().map(|list| workspace::read(&workspace::root().join(list)));
    let wanted = contents.collect::<Result<Vec<_>, _>>()?.concat();
    // Written after everything is installed.
    let stamp = home.join("requirements.txt");
    if workspace::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    base.need()?;
    let words =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"];
    let names: Vec<String> = lists.iter().map(|list| list.display().to_string()).collect();
    let what = format!("the Python packages of {}, in the target directory", names.join(" and "));
    machine::install(&what, None, || {
        // `--clear` removes an unfinished earlier set-up.
        let venv = Run::new(base.program()).args(["-m", "venv", "--clear"]);
        let venv = if matches!(base, Base::Any) { venv } else { venv.args(["--system-site-packages"]) };
        venv.args([&home]).capture()?;
        lists.iter().try_for_each(|list| {
            Run::new(&python).args(words).args([list]).limit(DOWNLOAD).capture().map(drop)
        })
    })?;
    workspace::write(&stamp, &wanted)?;
    Ok(python)
}
