//! Patterns of names in `config.json`. They are untrusted, so none is a regular expression here.

/// Matches a pattern in which `*` is any text.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(last) = parts.next_back() else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    parts.all(|part| match rest.find(part) {
        Some(at) => {
            rest = rest.get(at + part.len()..).unwrap_or("");
            true
        }
        None => false,
    })
}

/// Matches a target of compressed-tensors: the name of a module, or after `re:` a regular expression that has
/// only `.*`, `\.` and anchors. Any other one matches nothing.
pub(super) fn matches_target(target: &str, module: &str) -> bool {
    let Some(pattern) = target.strip_prefix("re:") else { return target == module };
    let pattern = pattern.strip_prefix('^').unwrap_or(pattern);
    let pattern = match pattern.strip_suffix('$') {
        Some(pattern) => pattern.to_owned(),
        None => format!("{pattern}.*"),
    };
    let pattern = pattern.replace(".*", "*").replace("\\.", ".");
    !pattern.contains(|letter| r"\+?()[]{}|^$".contains(letter)) && glob(&pattern, module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_match() {
        for (target, module, expected) in [
            ("lm_head", "lm_head", true),
            ("Linear", "lm_head", false),
            ("re:.*lm_head", "model.lm_head.x", true),
            ("re:.*lm_head$", "model.lm_head.x", false),
            (r"re:^model\.layers\..*\.mlp$", "model.layers.7.mlp", true),
            (r"re:model\.(a|b)", "model.a", false),
            ("re:.*", "", true),
            ("re:^ab.*ba$", "aba", false),
            ("re:^a.*b.*c$", "a--b--c", true),
            ("re:^a.*b.*c$", "a--c--b", false),
        ] {
            assert_eq!(matches_target(target, module), expected, "{target} {module}");
        }
    }
}
