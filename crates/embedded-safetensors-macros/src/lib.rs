//! One source for the blocking and the asynchronous form of `embedded-safetensors`: code is written for the
//! asynchronous form, and becomes the blocking form without `async` and `.await`.
//!
//! Both forms include the same file, and import one of these attributes under the same name.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};
use std::iter::Peekable;

/// Leaves the item unchanged.
#[proc_macro_attribute]
pub fn asynchronous(_: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// Removes `async` and `.await` from the item, and the sections about cancelled futures from its
/// documentation.
#[proc_macro_attribute]
pub fn blocking(_: TokenStream, item: TokenStream) -> TokenStream {
    strip(item)
}

fn strip(stream: TokenStream) -> TokenStream {
    let mut kept = Vec::new();
    let mut tokens = stream.into_iter().peekable();
    // Whether the next documentation line is about cancelled futures.
    let mut is_about_cancellation = false;
    while let Some(token) = tokens.next() {
        let is_attribute = matches!(&token, TokenTree::Punct(sign) if sign.as_char() == '#');
        is_about_cancellation &= is_attribute;
        match token {
            TokenTree::Ident(word) if word.to_string() == "async" => {
                drop(tokens.next_if(|next| is_word(next, "move")));
            }
            TokenTree::Ident(word) if word.to_string() == "impl" => {
                match tokens.next_if(|next| is_word(next, "Future")) {
                    Some(_) => kept.extend(output(&mut tokens)),
                    None => kept.push(word.into()),
                }
            }
            TokenTree::Punct(dot) if dot.as_char() == '.' && next_is_await(&mut tokens) => {
                drop(tokens.next());
            }
            sign if is_attribute => {
                is_about_cancellation = match tokens.peek().and_then(documentation) {
                    Some(line) if line.starts_with(" # ") => line == " # Cancel safety",
                    Some(_) => is_about_cancellation,
                    None => false,
                };
                match tokens.next() {
                    Some(_) if is_about_cancellation => {}
                    attribute => kept.extend([sign].into_iter().chain(attribute)),
                }
            }
            TokenTree::Group(group) => kept.push(strip_group(&group)),
            token => kept.push(token),
        }
    }
    kept.into_iter().collect()
}

/// Returns the type in `<Output = Type>`.
fn output(tokens: &mut impl Iterator<Item = TokenTree>) -> TokenStream {
    let mut depth = 1;
    let inner = tokens.skip(3).take_while(|token| {
        match token {
            TokenTree::Punct(sign) if sign.as_char() == '<' => depth += 1,
            TokenTree::Punct(sign) if sign.as_char() == '>' => depth -= 1,
            _ => {}
        }
        depth > 0
    });
    inner.collect()
}

fn is_word(token: &TokenTree, expected: &str) -> bool {
    matches!(token, TokenTree::Ident(word) if word.to_string() == expected)
}

fn next_is_await(tokens: &mut Peekable<impl Iterator<Item = TokenTree>>) -> bool {
    tokens.peek().is_some_and(|token| is_word(token, "await"))
}

fn strip_group(group: &Group) -> TokenTree {
    let mut inner = Group::new(group.delimiter(), strip(group.stream()));
    inner.set_span(group.span());
    inner.into()
}

/// Returns the line of `[doc = "line"]`.
fn documentation(token: &TokenTree) -> Option<String> {
    let TokenTree::Group(group) = token else { return None };
    let mut tokens = group.stream().into_iter();
    let is_doc = group.delimiter() == Delimiter::Bracket && tokens.next()?.to_string() == "doc";
    let text = tokens.nth(1).filter(|_| is_doc)?.to_string();
    Some(text.trim_start_matches('r').trim_matches('"').to_owned())
}
