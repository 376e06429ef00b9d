//! Patterns of names, with the meaning that they have in Python's `fnmatch`.

/// One place of a pattern.
enum Place {
    /// Any characters, or none.
    Star,
    /// One character, whatever it is.
    Any,
    One(char),
    /// One character of these ranges, or (`false`) of no one of them.
    Set(bool, Vec<(char, char)>),
}

impl Place {
    fn takes(&self, character: char) -> bool {
        match self {
            Self::Star => false,
            Self::Any => true,
            Self::One(one) => *one == character,
            Self::Set(inside, ranges) => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&character)) == *inside
            }
        }
    }
}

/// Whether the whole name is what the pattern says.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (places, name): (Vec<Place>, Vec<char>) = (parse(pattern), name.chars().collect());
    let (mut place, mut at) = (0, 0);
    // The last star, and how far it reaches by now.
    let mut star = None;
    while at < name.len() {
        match places.get(place) {
            Some(Place::Star) => {
                star = Some((place, at));
                place += 1;
            }
            Some(one) if one.takes(name[at]) => (place, at) = (place + 1, at + 1),
            _ => {
                let Some((last, reach)) = star else { return false };
                star = Some((last, reach + 1));
                (place, at) = (last + 1, reach + 1);
            }
        }
    }
    places[place..].iter().all(|place| matches!(place, Place::Star))
}

fn parse(pattern: &str) -> Vec<Place> {
    let mut places = Vec::new();
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        places.push(match character {
            '*' => Place::Star,
            '?' => Place::Any,
            '[' => set(&mut rest).unwrap_or(Place::One('[')),
            other => Place::One(other),
        });
    }
    places
}

/// What stands in brackets; nothing, and nothing taken, if they do not close.
fn set(rest: &mut std::str::Chars<'_>) -> Option<Place> {
    let text = rest.as_str();
    let body = text.strip_prefix('!').unwrap_or(text);
    // A bracket that stands first is one of the characters.
    let len = body.char_indices().skip(1).find(|(_, character)| *character == ']').map(|(index, _)| index)?;
    let (members, behind) = body.split_at(len);
    *rest = behind[1..].chars();
    Some(Place::Set(body.len() == text.len(), ranges(members)))
}

fn ranges(members: &str) -> Vec<(char, char)> {
    let members: Vec<char> = members.chars().collect();
    let (mut ranges, mut at) = (Vec::new(), 0);
    while let Some(first) = members.get(at) {
        match members.get(at + 1..at + 3) {
            Some(['-', last]) => {
                ranges.push((*first, *last));
                at += 3;
            }
            _ => {
                ranges.push((*first, *first));
                at += 1;
            }
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_mean_what_python_takes_them_for() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("utf8-*", "utf8-bom", true),
            ("utf8-*", "utf-8", false),
            ("*-max", "large-header-max", true),
            ("*-max", "large-header-max-plus-1", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("d?-*", "d1-slash", true),
            ("d?", "d", false),
            ("d[12]-*", "d2-escaped", true),
            ("d[12]-*", "d3-array", false),
            ("d[1-3]", "d3", true),
            ("d[!1-3]", "d3", false),
            ("d[!1-3]", "d4", true),
            ("[]]", "]", true),
            ("[a-]", "-", true),
            ("[", "[", true),
            ("[a", "[a", true),
            ("", "", true),
            ("", "a", false),
            ("A*", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
