//! Tensors whose name also begins the names of a group of others, such as `a` beside `a.b`.

use crate::input::model::Tensor;
use std::collections::HashMap;

/// For each such tensor, the first tensor of its group.
pub type Groups<'m> = HashMap<&'m str, &'m str>;

/// Finds the tensors with a group.
pub fn of<'m>(tensors: &[Tensor<'m>]) -> Groups<'m> {
    in_names(tensors.iter().map(Tensor::name).collect())
}

fn in_names(mut names: Vec<&str>) -> Groups<'_> {
    // Each group follows the tensor with its name.
    names.sort_unstable_by(|one, other| one.split('.').cmp(other.split('.')));
    let (mut groups, mut open) = (Groups::new(), Vec::<&str>::new());
    for name in names {
        while open.last().is_some_and(|last| !is_in(name, last)) {
            open.pop();
        }
        open.last().map(|group| *groups.entry(*group).or_insert(name));
        open.push(name);
    }
    groups
}

fn is_in(name: &str, group: &str) -> bool {
    name.strip_prefix(group).is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::in_names;

    #[test]
    fn groups_with_the_name_of_a_tensor_are_found() {
        let names = ["a.b.c", "a-", "a.b.c.d", "a", "a.c", "aa.b", "b.c", "b.c-d", "c", "c."];
        let mut groups: Vec<(&str, &str)> = in_names(names.to_vec()).into_iter().collect();
        groups.sort_unstable();
        assert_eq!(groups, [("a", "a.b.c"), ("a.b.c", "a.b.c.d"), ("c", "c.")]);
    }
}
