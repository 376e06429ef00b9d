//! Hidden files that killed programs have left are removed by the next program that writes in the directory.
//!
//! A program that has hidden files in a directory holds a shared lock on the directory, which the system
//! releases when it ends. So nobody needs the hidden files of a directory that can be locked exclusively.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// While it is held, nobody removes hidden files in a directory.
pub(crate) type Claim = Arc<File>;

/// Removes the hidden files of killed programs, and claims the directory. Does nothing where the system or
/// the file system has no such locks, or another program keeps the directory locked.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(crate) fn claim(directory: &Path) -> Option<Claim> {
    use crate::disk::Disk;
    use crate::{system::System, undo};
    use rustix::fs::{FlockOperation, flock};
    let lock = File::open(directory).ok()?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
        leftover::remove(&lock, directory);
    }
    for _ in 0..undo::PAUSES {
        if flock(&lock, FlockOperation::NonBlockingLockShared).is_ok() {
            return Some(Arc::new(lock));
        }
        // Another program is removing hidden files.
        System.pause();
    }
    None
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(crate) fn claim(_: &Path) -> Option<Claim> {
    None
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod leftover {
    use std::fs::{self, File};
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    /// Removes the files and directories of this user that have a hidden name. Errors are ignored: the next
    /// program tries again.
    pub(super) fn remove(lock: &File, directory: &Path) {
        let user = rustix::process::geteuid().as_raw();
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if !entry.file_name().to_str().is_some_and(is_hidden_name) {
                continue;
            }
            // Of a link itself, which is neither a file nor a directory.
            let _ = entry.metadata().and_then(|found| match found {
                _ if found.uid() != user => Ok(()),
                _ if found.is_file() => fs::remove_file(entry.path()),
                // It may be an old checkpoint: the name of the new one must be stored before.
                _ if found.is_dir() => lock.sync_all().and_then(|()| fs::remove_dir_all(entry.path())),
                _ => Ok(()),
            });
        }
    }

    /// Returns whether a name is one that [`beside`](crate::atomic::beside) makes.
    fn is_hidden_name(name: &str) -> bool {
        let numbers = name.strip_prefix(".safetensors-").and_then(|rest| rest.strip_suffix(".tmp"));
        let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        numbers.and_then(|numbers| numbers.split_once('-')).is_some_and(|(program, chance)| {
            !program.is_empty() && chance.len() == 16 && is_hex(program) && is_hex(chance)
        })
    }
}

#[cfg(all(test, any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
mod tests {
    use crate::AtomicFile;
    use std::collections::BTreeSet;
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    fn names(directory: &Path) -> BTreeSet<String> {
        let names = fs::read_dir(directory).expect("exists");
        names.map(|entry| entry.expect("listed").file_name().into_string().expect("text")).collect()
    }

    fn write(path: &Path) {
        AtomicFile::create(path).and_then(|file| file.close()?.replace()).expect("writes");
    }

    #[test]
    fn only_hidden_files_of_ended_programs_are_removed() {
        let directory = std::env::temp_dir().join(format!("leftovers-{}", std::process::id()));
        fs::create_dir(&directory).expect("creates");
        let leftover = ".safetensors-1a2b-0123456789abcdef.tmp";
        let others = [
            ".safetensors-1a2b-0123456789abcdef.tmp~",
            ".safetensors-1a2b-0123456789ABCDEF.tmp",
            ".safetensors-1a2b-0123456789abcde.tmp",
            ".safetensors--0123456789abcdef.tmp",
            ".safetensors-name.old",
            "m",
        ];
        others.iter().for_each(|name| fs::write(directory.join(name), "other").expect("writes"));
        let link = directory.join(".safetensors-2-0123456789abcdef.tmp");
        std::os::unix::fs::symlink("m", &link).expect("links");
        let before = names(&directory);
        let put_leftovers = || {
            fs::write(directory.join(leftover), "left").expect("writes");
            let folder = directory.join(".safetensors-3-0123456789abcdef.tmp");
            fs::create_dir(&folder).and_then(|()| fs::write(folder.join("file"), "left")).expect("writes");
        };

        // A writer that is open, closed, or in place beside others.
        put_leftovers();
        let mut open = AtomicFile::create(directory.join("a")).expect("creates");
        assert!(!names(&directory).contains(leftover), "it removes what is left");
        put_leftovers();
        let all = names(&directory);
        write(&directory.join("m"));
        assert_eq!(names(&directory), all, "another writer may need them");
        open.write_all(b"a").expect("writes");
        let closed = open.close().expect("closes");
        let next = closed.another(directory.join("b")).and_then(AtomicFile::close).expect("writes");
        closed.replace().expect("replaces");
        write(&directory.join("m"));
        assert!(names(&directory).contains(leftover), "the second file shares the claim");
        next.replace().expect("replaces");
        write(&directory.join("m"));
        let mut after = before;
        after.extend(["a", "b"].map(str::to_owned));
        assert_eq!(names(&directory), after);
        fs::remove_dir_all(&directory).expect("removes");
    }
}
