//! What can be changed in a file of the core.

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Lit, ReturnType, Stmt, UnOp, parse_quote, parse_str};

/// A piece of code of the core that is replaced by another.
pub struct Change {
    /// Below the sources of the core.
    pub path: String,
    pub line: usize,
    /// The code before and after.
    pub what: String,
}

/// Puts a switch at each change of a file.
pub struct Switches<'s> {
    pub path: &'s str,
    /// Functions that are left as they are.
    pub skipped: Vec<&'static str>,
    pub is_chosen: &'s dyn Fn(&Change) -> bool,
    /// Those of earlier files come first: a number is an index.
    pub changes: &'s mut Vec<Change>,
}

impl Switches<'_> {
    /// Returns the number of a change, if it is chosen.
    fn add(&mut self, before: &impl ToTokens, after: &impl ToTokens) -> Option<usize> {
        let what = format!("{} → {}", before.to_token_stream(), after.to_token_stream());
        let change = Change { path: self.path.to_owned(), line: before.span().start().line, what };
        (self.is_chosen)(&change).then(|| {
            self.changes.push(change);
            self.changes.len() - 1
        })
    }

    fn function(&mut self, signature: &syn::Signature, block: &mut syn::Block) {
        let name = signature.ident.to_string();
        if name == "fmt" || name == "format" || self.skipped.contains(&&*name) {
            return;
        }
        let output = match &signature.output {
            ReturnType::Default => "()".to_owned(),
            ReturnType::Type(_, output) => output.to_token_stream().to_string().replace(' ', ""),
        };
        let body = block.to_token_stream().to_string();
        visit_mut::visit_block_mut(self, block);
        let is_start = |name: &str| output == name || name.contains('<') && output.starts_with(name);
        for value in others(VALUES, is_start).filter(|value| body != format!("{{ {value} }}")) {
            let value: Expr = parse_str(value).expect("a value");
            if let Some(number) = self.add(&signature.ident, &value) {
                block.stmts.insert(0, parse_quote!(if crate::mutant::on(#number) { return #value; }));
            }
        }
    }
}

impl VisitMut for Switches<'_> {
    fn visit_item_fn_mut(&mut self, item: &mut syn::ItemFn) {
        self.function(&item.sig, &mut item.block);
    }

    fn visit_impl_item_fn_mut(&mut self, item: &mut syn::ImplItemFn) {
        self.function(&item.sig, &mut item.block);
    }

    /// Removes a statement.
    fn visit_stmt_mut(&mut self, statement: &mut Stmt) {
        use Expr::{Assign, Binary, Call, MethodCall, Try};
        let before = statement.clone();
        visit_mut::visit_stmt_mut(self, statement);
        match &before {
            // A variable may get its only value here.
            Stmt::Expr(Assign(assign), _) if matches!(*assign.left, Expr::Path(_) | Expr::Tuple(_)) => {}
            Stmt::Expr(Assign(_) | Binary(_) | Call(_) | MethodCall(_) | Try(_), Some(_)) => {
                if let Some(number) = self.add(&before, &"") {
                    *statement = parse_quote!(if crate::mutant::on(#number) {} else { #statement });
                }
            }
            _ => {}
        }
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        let before = expression.clone();
        visit_mut::visit_expr_mut(self, expression);
        for after in changed(&before) {
            if let Some(number) = self.add(&before, &after) {
                *expression = parse_quote!((if crate::mutant::on(#number) { #after } else { #expression }));
            }
        }
    }

    fn visit_expr_repeat_mut(&mut self, repeat: &mut syn::ExprRepeat) {
        self.visit_expr_mut(&mut repeat.expr);
    }

    // What is evaluated at build time, or is no expression, or a test.
    fn visit_item_mod_mut(&mut self, _: &mut syn::ItemMod) {}
    fn visit_item_const_mut(&mut self, _: &mut syn::ItemConst) {}
    fn visit_item_static_mut(&mut self, _: &mut syn::ItemStatic) {}
    fn visit_item_enum_mut(&mut self, _: &mut syn::ItemEnum) {}
    fn visit_impl_item_const_mut(&mut self, _: &mut syn::ImplItemConst) {}
    fn visit_trait_item_const_mut(&mut self, _: &mut syn::TraitItemConst) {}
    fn visit_expr_const_mut(&mut self, _: &mut syn::ExprConst) {}
    fn visit_generic_argument_mut(&mut self, _: &mut syn::GenericArgument) {}
    fn visit_attribute_mut(&mut self, _: &mut syn::Attribute) {}
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}
}

/// For each operator and each method, those that replace it.
const OTHERS: &str = "==:!= !=:== <:<=,>= <=:<,> >:>=,<= >=:>,< &&:|| ||:&& +:- -:+ *:+ %:+ /:* <<:>> >>:<< \
    &:| |:&,^ ^:| +=:-= -=:+= *=:+= |=:&= &=:|= ^=:|= <<=:>>= >>=:<<= min:max max:min any:all all:any \
    is_some:is_none is_none:is_some is_ok:is_err is_err:is_ok saturating_add:wrapping_add \
    saturating_sub:wrapping_sub saturating_mul:wrapping_mul";
/// For the start of each type, values that a function can return at once.
const VALUES: &str = "():() bool:true,false u8:0,1 u16:0,1 u32:0,1 u64:0,1 usize:0,1 f32:0.0 f64:0.0 &str:\"\" \
    &'staticstr:\"\" &[u8]:&[] Option<:None Result<():Ok(()) Result<bool:Ok(true),Ok(false) Result<u64:Ok(0) \
    Result<usize:Ok(0) Result<Option<:Ok(None)";

/// Returns what a table has for a name.
fn others(table: &str, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let rows = table.split_whitespace().filter_map(|row| row.split_once(':'));
    rows.filter(move |(name, _)| is_wanted(name)).flat_map(|(_, others)| others.split(','))
}

/// Returns what can replace the expression itself; its parts are changed alone.
fn changed(expression: &Expr) -> Vec<Expr> {
    match expression {
        // A condition that binds names is no value.
        Expr::Binary(binary) if !expression.to_token_stream().to_string().contains("let ") => {
            let own = binary.op.to_token_stream().to_string();
            let operators = others(OTHERS, |name| name == own).map(|op| parse_str(op).expect("an operator"));
            operators.map(|op| syn::ExprBinary { op, ..binary.clone() }.into()).collect()
        }
        Expr::MethodCall(call) => {
            let methods = others(OTHERS, |name| call.method == name);
            let methods = methods.map(|method| parse_str(method).expect("a name"));
            methods.map(|method| syn::ExprMethodCall { method, ..call.clone() }.into()).collect()
        }
        Expr::Unary(unary) if !matches!(unary.op, UnOp::Deref(_)) => vec![(*unary.expr).clone()],
        Expr::Macro(call) if call.mac.path.is_ident("matches") => vec![parse_quote!(!#expression)],
        Expr::Lit(literal) => match &literal.lit {
            Lit::Bool(_) => vec![parse_quote!(!#expression)],
            Lit::Int(int) => {
                let value: u128 = int.base10_parse().expect("a number");
                let near = [value.checked_add(1), value.checked_sub(1)].into_iter().flatten();
                near.map(|value| parse_str(&format!("{value}{}", int.suffix())).expect("a number")).collect()
            }
            _ => vec![],
        },
        _ => vec![],
    }
}
