//! The names of tensors as a tree, by their dots, with sums.

use crate::input::model::Tensor;
use crate::print::listing::shape_text;
use crate::table::Side::{Left, Right};
use crate::table::{Table, number};
use crate::text::{counted, human, shown_text};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Names with more dots keep their rest together. Those with an empty part, such as `..`, are no path: they
/// stay whole.
const DEEPEST: usize = 32;

/// A segment of a name, sorted as people count: numbers first, `2` before `10`. A tensor is no
/// child of a group of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Segment<'m> {
    is_word: bool,
    digits: usize,
    text: &'m str,
    is_tensor: bool,
}

impl<'m> Segment<'m> {
    fn new(text: &'m str, is_tensor: bool) -> Self {
        let is_word = !text.bytes().all(|byte| byte.is_ascii_digit());
        Self { is_word, digits: if is_word { 0 } else { text.len() }, text, is_tensor }
    }
}

#[derive(Default)]
struct Node<'m> {
    children: BTreeMap<Segment<'m>, usize>,
    tensor: Option<Tensor<'m>>,
    tensors: u64,
    parameters: u128,
    bytes: u128,
}

/// A row of the tree: a group, or a tensor.
#[derive(Serialize)]
pub struct Branch<'t, 'm> {
    pub depth: usize,
    pub name: String,
    /// None for a group.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "name_of")]
    pub tensor: Option<&'t Tensor<'m>>,
    /// None for a tensor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensors: Option<u64>,
    pub parameters: u128,
    pub bytes: u128,
}

/// All names; the first node is the root.
pub struct Tree<'m> {
    nodes: Vec<Node<'m>>,
}

impl<'m> Tree<'m> {
    pub fn of(tensors: &[Tensor<'m>]) -> Self {
        let mut tree = Self { nodes: vec![Node::default()] };
        tensors.iter().for_each(|tensor| tree.insert(*tensor));
        tree
    }

    fn insert(&mut self, tensor: Tensor<'m>) {
        let name: &'m str = tensor.name();
        let is_whole = name.split('.').any(str::is_empty);
        let (mut at, mut parts) = (0, name.splitn(if is_whole { 1 } else { DEEPEST }, '.').peekable());
        while let Some(text) = parts.next() {
            self.nodes[at].add(&tensor);
            let part = Segment::new(text, parts.peek().is_none());
            let new = self.nodes.len();
            let child = *self.nodes[at].children.entry(part).or_insert(new);
            if child == new {
                self.nodes.push(Node::default());
            }
            at = child;
        }
        self.nodes[at].add(&tensor);
        self.nodes[at].tensor = Some(tensor);
    }

    /// All rows but the root, from top to bottom. A group of one is no row of its own.
    pub fn branches(&self) -> Vec<Branch<'_, 'm>> {
        let mut rows = Vec::new();
        let below = |node: &Node<'m>, depth: usize| {
            let children = node.children.iter().rev();
            children.map(|(part, child)| (part.text.to_owned(), *child, depth)).collect::<Vec<_>>()
        };
        let mut open = below(&self.nodes[0], 0);
        while let Some((mut name, mut at, depth)) = open.pop() {
            while let (Some((part, child)), 1) =
                (self.nodes[at].children.iter().next(), self.nodes[at].children.len())
            {
                name = format!("{name}.{}", part.text);
                at = *child;
            }
            let node = &self.nodes[at];
            let Node { parameters, bytes, .. } = *node;
            let tensor = node.tensor.as_ref();
            let tensors = tensor.is_none().then_some(node.tensors);
            rows.push(Branch { depth, name, tensor, tensors, parameters, bytes });
            open.extend(below(node, depth + 1));
        }
        rows
    }

    /// The tree as a table.
    pub fn table(&self) -> Table {
        let [tensor, dtype, shape] = ["tensor", "dtype", "shape"].map(|title| (title, Left));
        let columns = [tensor, dtype, shape, ("parameters", Right), ("size", Right)];
        let mut table = Table::new(columns).optional(&["parameters"]);
        for row in self.branches() {
            let (dtype, shape) = match row.tensor {
                Some(tensor) => (tensor.dtype().to_string(), shape_text(tensor.dims())),
                None => (String::new(), counted(row.tensors.unwrap_or(0), "tensor")),
            };
            let name = if row.name.is_empty() { "\"\"".into() } else { shown_text(&row.name) };
            let name = format!("{:indent$}{name}", "", indent = 2 * row.depth);
            table.push([name, dtype, shape, number(row.parameters), human(row.bytes)]);
        }
        table
    }
}

fn name_of<S: Serializer>(tensor: &Option<&Tensor<'_>>, to: S) -> Result<S::Ok, S::Error> {
    tensor.map(|tensor| tensor.name()).serialize(to)
}

impl Node<'_> {
    fn add(&mut self, tensor: &Tensor<'_>) {
        self.tensors += 1;
        self.parameters += u128::from(tensor.elements());
        self.bytes += u128::from(tensor.byte_len());
    }
}

#[cfg(test)]
mod tests {
    use super::Segment;

    #[test]
    fn numbers_are_sorted_as_numbers() {
        let mut parts = ["10", "2", "a", "1", "bias", "1b"].map(|text| Segment::new(text, false));
        parts.sort();
        assert_eq!(parts.map(|part| part.text), ["1", "2", "10", "1b", "a", "bias"]);
    }
}
