//! The command for Linux, linked statically: archives, and packages of Debian with the same files.

use super::notices::notices;
use super::{REPOSITORY, Table, VERSION, alone, empty, nameless};
use crate::machine::Need;
use crate::process::Run;
use crate::python::environment;
use crate::toolchain::own_cargo;
use crate::workspace::{target_dir, write};
use std::env::{consts::ARCH, var};
use std::path::Path;

pub const NEEDS: &[Need] = &[
    Need::Targets(&["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]),
    Need::Python("release"),
    Need::Program("qemu-aarch64-static", "qemu-user-static"),
];

/// Architectures, and what Debian calls them.
const ARCHITECTURES: [(&str, &str); 2] = [("x86_64", "amd64"), ("aarch64", "arm64")];

/// Packs the program $1, and what the one for this computer, $0, prints for `man` and for shells. Files are
/// of 1980, so that a release has the same bytes whenever it is made.
const PACK: &str = r#"export SOURCE_DATE_EPOCH=315532800; share=usr/share
doc=$share/doc/embedded-safetensors bash=$share/bash-completion/completions
fish=$share/fish/vendor_completions.d zsh=$share/zsh/vendor-completions
mkdir -p usr/bin $share/man $doc $bash $fish $zsh
cp "$1" usr/bin; cp ../host/README.md ../LICENSE-RUST.html $doc
cat ../LICENSE-[!R]* "$2"/lib/python3*/site-packages/ziglang/lib/libc/musl/COPYRIGHT > $doc/copyright
"$0" man -o $share/man/man1; gzip -9n $share/man/man1/*; "$0" completions bash > $bash/safetensors
"$0" completions fish > $fish/safetensors.fish; "$0" completions zsh > $zsh/_safetensors
sed -i "s/SIZE/$(du -s --apparent-size usr | cut -f1)/" DEBIAN/control; chmod -R u=rwX,go=rX .
dpkg-deb --root-owner-group -Zxz --build . "$3"
tar --sort=name --mtime=@$SOURCE_DATE_EPOCH --owner=0 --group=0 --numeric-owner --transform="s,^usr,$4," \
    --use-compress-program='gzip -9n' --create --file="$3/$4.tar.gz" usr"#;

/// Unpacks or installs $1 where nothing else is but an emulator of the architecture $0, and lets the command
/// judge a valid and a torn model.
const JUDGE: &str = r#"PATH=$PATH:/usr/sbin:/sbin emulator=
mkdir -p usr var/lib/dpkg/updates var/lib/dpkg/info; touch var/lib/dpkg/status
case $1 in
*.deb) dpkg --root=. --log=log --force-architecture --install "$1" ;;
*) tar -xzf "$1" --strip-components=1 --directory=usr ;;
esac
bash -ec '. usr/share/bash-completion/completions/safetensors; complete -p safetensors'
! grep -aF -e "${CARGO_HOME:-$HOME/.cargo}/" -e "$HOME/" usr/bin/safetensors
test "$(uname -m)" = "$0" || { emulator=/emulator; cp "$(command -v "qemu-$0-static")" .$emulator; }
printf '\070\0\0\0\0\0\0\0{"bias":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}abc' > model
head -c 66 model > torn
judge() { chroot . $emulator /usr/bin/safetensors check "$1"; }
judge model; judge torn && exit 1 || test $? = 1"#;

/// Makes archives whose files can be merged into any prefix, and packages that have them in `/usr`.
pub fn make(tree: &Path, dir: &Path) -> Result<(), String> {
    let python = environment("release")?;
    let home = python.ancestors().nth(2).unwrap_or(tree);
    let path = format!("{}/bin:{}", home.display(), var("PATH").unwrap_or_default());
    let build = own_cargo().dir(tree).env("PATH", path).env("RUSTFLAGS", nameless(tree)).limit(60 * 60);
    let build = build.env("CARGO_PROFILE_RELEASE_STRIP", "true");
    let targets = ARCHITECTURES.map(|(name, _)| format!("--target={name}-unknown-linux-musl"));
    build.words("zigbuild --release --locked --package safetensors-host").args(targets).check()?;
    notices(&tree.join("host"), tree)?;
    for (name, debian) in ARCHITECTURES {
        let control = format!(
            "Package: embedded-safetensors\nVersion: {VERSION}\nArchitecture: {debian}\n\
             Maintainer: the embedded-safetensors contributors <{REPOSITORY}>\nHomepage: {REPOSITORY}\n\
             Installed-Size: SIZE\nSection: utils\nPriority: optional\n\
             Description: command line for safetensors files\n \
             It validates, inspects, compares, converts and creates them.\n"
        );
        write(&tree.join(name).join("DEBIAN/control"), control.as_bytes())?;
        let program = |name| target_dir().join(format!("{name}-unknown-linux-musl/release/safetensors"));
        let pack = Run::new("sh").args(["-ec", PACK]).dir(&tree.join(name));
        let pack = pack.args([&program(ARCH), &program(name), home, dir]);
        pack.args([format!("safetensors-{VERSION}-{name}-unknown-linux-musl")]).capture()?;
    }
    Ok(())
}

/// Runs the command of each archive and package in a root without anything else.
pub fn verify(dir: &Path, table: &mut Table) -> Result<(), String> {
    for (name, debian) in ARCHITECTURES {
        let archive = format!("safetensors-{VERSION}-{name}-unknown-linux-musl.tar.gz");
        for file in [archive, format!("embedded-safetensors_{VERSION}_{debian}.deb")] {
            let run = alone(&empty("root")?, false).args(["sh", "-ec", JUDGE, name]).args([dir.join(&file)]);
            let how = "the command judges models in an empty root; bash completes it";
            table.row(&dir.join(&file), how, run.capture().map(drop));
        }
    }
    Ok(())
}
