//! What can be changed in a file of the core.

use quote::ToTokens;
use std::ops::{Range, RangeInclusive};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprIf, ExprRepeat, ExprWhile, ItemMod, Lit, Pat, ReturnType, Stmt, Type, UnOp};

/// A piece of code of the core that is replaced by another.
pub struct Change {
    pub path: String,
    pub line: usize,
    /// The code before and after.
    pub what: String,
    bytes: Range<usize>,
    changed: String,
    around: [&'static str; 3],
}

/// What stands before the switch, between it and the original code, and at the end.
const VALUE: [&str; 3] = ["(", " else {", "})"];
const STATEMENT: [&str; 3] = ["", " else {", "}"];
/// At the start of a function.
const RETURN: [&str; 3] = [" ", "", ""];

/// What is in a file.
#[derive(Default)]
pub struct Found<'n> {
    path: &'n str,
    /// The functions that only const evaluation calls.
    names: &'n [&'n str],
    /// Those of the outer code come first.
    pub changes: Vec<Change>,
    /// The lines of these functions.
    pub in_consts: Vec<(String, RangeInclusive<usize>)>,
    /// The lines of tests.
    pub tests: Vec<RangeInclusive<usize>>,
}

/// Returns the text with switches for some of the changes that were found in it, in that order.
pub fn with_switches<'c>(text: &str, changes: impl Iterator<Item = (usize, &'c Change)>) -> String {
    let mut inserted = vec![];
    for (number, Change { bytes, changed, around: [before, between, after], .. }) in changes {
        let order = isize::try_from(number).expect("few changes");
        let switch = format!("{before}if crate::mutant::on({number}) {{ {changed} }}{between}");
        // At one byte, what ends there comes first, innermost first.
        inserted.push((bytes.start, true, order, switch));
        inserted.push((bytes.end, after.is_empty(), -order, (*after).to_owned()));
    }
    inserted.sort();
    let (mut changed, mut at) = (String::new(), 0);
    for (byte, _, _, piece) in inserted {
        changed = changed + &text[at..byte] + &piece;
        at = byte;
    }
    changed + &text[at..]
}

impl<'n> Found<'n> {
    pub fn of(text: &str, path: &'n str, names: &'n [&'n str]) -> Self {
        let mut found = Self { path, names, ..Self::default() };
        found.visit_file(&syn::parse_file(text).expect("the library compiles"));
        found
    }

    fn add(
        &mut self,
        around: [&'static str; 3],
        code: &impl ToTokens,
        changed: impl IntoIterator<Item = String>,
    ) {
        let (span, text) = (code.span(), code.to_token_stream().to_string());
        let bytes = match span.byte_range() {
            bytes if around == RETURN => bytes.start + 1..bytes.start + 1,
            bytes => bytes,
        };
        self.changes.extend(changed.into_iter().map(|changed| {
            let text: String = if around == RETURN { "{".to_owned() } else { text.clone() };
            let (path, what) = (self.path.to_owned(), format!("{text} → {changed}"));
            Change { path, line: span.start().line, what, bytes: bytes.clone(), changed, around }
        }));
    }

    /// Adds the opposite of a condition, unless it is changed as an expression.
    fn condition(&mut self, condition: &Expr) {
        if !matches!(condition, Expr::Binary(_) | Expr::Unary(_) | Expr::Let(_) | Expr::Lit(_)) {
            self.add(VALUE, condition, [format!("!({})", condition.to_token_stream())]);
        }
    }

    fn function(&mut self, signature: &syn::Signature, block: &Block) {
        let name = signature.ident.to_string();
        if self.names.contains(&&name[..]) {
            assert!(signature.constness.is_some(), "{name} is not const");
            return self.in_consts.push((name, lines(block)));
        }
        if ["fmt", "format"].contains(&&name[..]) {
            return;
        }
        let output = match &signature.output {
            ReturnType::Default => String::new(),
            ReturnType::Type(_, output) => output.to_token_stream().to_string().replace(' ', ""),
        };
        let is_start = |name: &str| output == name || name.contains('<') && output.starts_with(name);
        let body = block.to_token_stream().to_string();
        let values = others(VALUES, is_start).chain(output.is_empty().then_some(""));
        let values = values.filter(|value| body != format!("{{ {value} }}"));
        self.add(RETURN, block, values.map(|value| format!("return {value};")));
        self.visit_block(block);
    }
}

impl<'ast> Visit<'ast> for Found<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        match item.attrs.iter().any(|attribute| attribute.to_token_stream().to_string() == "# [cfg (test)]") {
            true => self.tests.push(lines(item)),
            false => visit::visit_item_mod(self, item),
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        item.default.iter().for_each(|block| self.function(&item.sig, block));
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        use Expr::{Assign, Binary, Call, MethodCall, Try};
        match statement {
            // A variable may get its only value here.
            Stmt::Expr(Assign(assign), _) if has_variable(&assign.left) => {}
            Stmt::Expr(Assign(_) | Binary(_) | Call(_) | MethodCall(_) | Try(_), Some(_)) => {
                self.add(STATEMENT, statement, [String::new()]);
            }
            _ => {}
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        self.add(VALUE, expression, changed(expression));
        visit::visit_expr(self, expression);
    }

    fn visit_expr_if(&mut self, expression: &'ast ExprIf) {
        self.condition(&expression.cond);
        visit::visit_expr_if(self, expression);
    }

    fn visit_expr_while(&mut self, expression: &'ast ExprWhile) {
        self.condition(&expression.cond);
        visit::visit_expr_while(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        arm.guard.iter().for_each(|(_, guard)| self.condition(guard));
        visit::visit_arm(self, arm);
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    // What is evaluated at build time, or is no expression.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_pat(&mut self, _: &'ast Pat) {}
}

fn lines(code: &impl Spanned) -> RangeInclusive<usize> {
    code.span().start().line..=code.span().end().line
}

/// For each operator and each method, those that replace it.
const OTHERS: &str = "==:!= !=:== <:<=,>= <=:<,> >:>=,<= >=:>,< &&:|| ||:&& +:- -:+ *:+ %:+ /:* <<:>> >>:<< \
    &:| |:&,^ ^:| +=:-= -=:+= *=:+= |=:&= &=:|= ^=:|= <<=:>>= >>=:<<= min:max max:min any:all all:any \
    is_some:is_none is_none:is_some is_ok:is_err is_err:is_ok saturating_add:wrapping_add \
    saturating_sub:wrapping_sub saturating_mul:wrapping_mul";
/// For the start of each type, values that a function can return at once.
const VALUES: &str = "bool:true,false u8:0,1 u16:0,1 u32:0,1 u64:0,1 usize:0,1 f32:0.0 f64:0.0 &str:\"\" \
    &'staticstr:\"\" &[u8]:&[] Option<:None Result<():Ok(()) Result<bool:Ok(true),Ok(false) Result<u64:Ok(0) \
    Result<usize:Ok(0) Result<Option<:Ok(None)";

/// Returns what a table has for a name.
fn others(table: &str, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let rows = table.split_whitespace().filter_map(|row| row.split_once(':'));
    rows.filter(move |(name, _)| is_wanted(name)).flat_map(|(_, others)| others.split(','))
}

/// Returns what can replace the expression itself; its parts are changed alone.
fn changed(expression: &Expr) -> Vec<String> {
    let text = |changed: Expr| changed.to_token_stream().to_string();
    match expression {
        Expr::Binary(binary) if !has_let(&binary.left) && !has_let(&binary.right) => {
            let own = binary.op.to_token_stream().to_string();
            let changed = |other| {
                let op = syn::parse_str(other).expect("an operator");
                text(syn::ExprBinary { op, ..binary.clone() }.into())
            };
            others(OTHERS, |name| name == own).map(changed).collect()
        }
        Expr::MethodCall(call) => {
            let changed = |other| {
                let method = syn::parse_str(other).expect("a name");
                text(syn::ExprMethodCall { method, ..call.clone() }.into())
            };
            others(OTHERS, |name| call.method == name).map(changed).collect()
        }
        Expr::Unary(unary) if !matches!(unary.op, UnOp::Deref(_)) => vec![text((*unary.expr).clone())],
        Expr::Macro(call) if call.mac.path.is_ident("matches") => {
            vec![format!("!{}", text(expression.clone()))]
        }
        Expr::Lit(literal) => match &literal.lit {
            Lit::Bool(value) => vec![(!value.value).to_string()],
            Lit::Int(int) => {
                let value: u128 = int.base10_parse().expect("a number");
                let near = [value.checked_add(1), value.checked_sub(1)].into_iter().flatten();
                near.map(|value| format!("{value}{}", int.suffix())).collect()
            }
            _ => vec![],
        },
        _ => vec![],
    }
}

/// Whether something is assigned to a variable as a whole.
fn has_variable(left: &Expr) -> bool {
    match left {
        Expr::Path(_) => true,
        Expr::Tuple(tuple) => tuple.elems.iter().any(has_variable),
        _ => false,
    }
}

/// Whether a condition binds names.
fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}
