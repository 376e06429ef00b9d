//! The core and the command are built in layers: a directory imports only from those before it in its list.
//! So the parser cannot depend on tensors, nor an error on a file that is read again.

mod source;

use proc_macro2::{TokenStream, TokenTree};
use source::File;

/// A package in layers. A file at its root counts as a directory; `lib.rs` imports all.
struct Layers {
    source: &'static str,
    order: &'static str,
}

const CORE: Layers = Layers {
    source: "crates/embedded-safetensors/src/",
    order: "util dtype error shape io tensor header validate index query integrity values slice reader model \
        write stream view metadata file asynch",
};

const COMMAND: Layers = Layers {
    source: "host/src/",
    order: "text exit error json table args threads stop work context input output print tensor pack convert chips \
        lint scan report commands",
};

/// The imports of `model.rs` from its parent, which is the root or the module of the asynchronous form.
const OF_BOTH_FORMS: &str = "{ ReadAt , TensorReader , feed , form }";

#[test]
fn no_directory_imports_from_a_lower_one() {
    for layers in [CORE, COMMAND] {
        let files = source::files_below(layers.source);
        let is_root = |path: &str| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
        let files = files.iter().filter(|file| file.is_rust() && !is_root(&file.path));
        let found: Vec<String> = files.flat_map(|file| layers.wrong_imports(file)).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn import_from_a_lower_directory_is_detected() {
    let found = |path: &str, text: &str| {
        CORE.wrong_imports(&File { path: format!("{}{path}", CORE.source), text: text.to_owned() }).len()
    };
    assert_eq!(found("tensor/info.rs", "use crate::validate::Summary;"), 1);
    assert_eq!(found("tensor/info.rs", "fn f() { g(crate::model::h()) }"), 1);
    assert_eq!(found("header/mod.rs", "use super::view::View;"), 1);
    assert_eq!(found("model.rs", "use super::file::FileModel;"), 1);
    assert_eq!(found("helpers/mod.rs", ""), 1);
    assert_eq!(found("shape.rs", "use crate::Dtype;"), 1);
    for allowed in [
        "use crate::error::Error; use super::machine::Signal; use crate::header::Event;",
        "//! See [`crate::view::View`].\nmod tests { use crate::view::View; }",
        "macro_rules! view { () => { $crate::View }; }",
    ] {
        assert_eq!(found("header/entry.rs", allowed), 0, "{allowed}");
    }
}

impl Layers {
    /// Returns a message for each import of a file from a directory after its own.
    fn wrong_imports(&self, file: &File) -> Vec<String> {
        let path = file.path.strip_prefix(self.source).expect("a file of the package");
        let own = path.split(['/', '.']).next().expect("a directory or a file");
        let layer = |directory: &str| self.order.split(' ').position(|name| name == directory);
        let Some(here) = layer(own) else {
            return vec![format!("{path}: {own} is not in the list of folders")];
        };
        // In a module's root file, `super` is the crate root.
        let is_at_root = path.ends_with("/mod.rs") && path.matches('/').count() == 1 || !path.contains('/');
        let tokens = source::without_unit_tests(file.tokens());
        let mut imported = Vec::new();
        collect(&tokens, if is_at_root { &["crate", "super"] } else { &["crate"] }, &mut imported);
        let is_wrong = |directory: &String| {
            directory != OF_BOTH_FORMS && layer(directory).is_none_or(|layer| layer > here)
        };
        imported.into_iter().filter(is_wrong).map(|directory| format!("{path} imports {directory}")).collect()
    }
}

/// Collects the names that follow one of these words and `::`, except in macro definitions that refer to
/// `$crate`.
fn collect(tokens: &[TokenTree], roots: &[&str], imported: &mut Vec<String>) {
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            let inner: Vec<TokenTree> = TokenStream::into_iter(group.stream()).collect();
            collect(&inner, roots, imported);
        }
        let is_root = |root: &&&str| source::ends_with(&tokens[..at], &[**root, ":", ":"]);
        let is_callers = at >= 4 && tokens[at - 4].to_string() == "$";
        if roots.iter().any(|root| is_root(&root)) && !is_callers {
            imported.push(token.to_string());
        }
    }
}
