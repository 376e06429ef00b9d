//! The part of JSON Schema 2020-12 that the manifest's schema uses; any other keyword is an error, so that
//! the schema cannot require anything that is not checked.

use serde_json::Value;

/// A schema document.
pub struct Schema {
    root: Value,
}

/// The path in the checked document, for messages.
type Path<'a> = &'a str;

impl Schema {
    /// Parses a schema.
    pub fn new(text: &str) -> Result<Self, String> {
        Ok(Self { root: serde_json::from_str(text).map_err(|error| error.to_string())? })
    }

    /// Returns the first violation of the schema.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.against(&self.root, value, "manifest")
    }

    fn against(&self, schema: &Value, value: &Value, path: Path<'_>) -> Result<(), String> {
        if let Value::Bool(anything) = schema {
            return ensure(*anything, || format!("{path}: must not be here"));
        }
        let keywords = schema.as_object().ok_or("a schema is an object or a boolean")?;
        keywords
            .iter()
            .try_for_each(|(keyword, expected)| self.keyword(keyword, expected, schema, value, path))
    }

    fn keyword(
        &self,
        keyword: &str,
        expected: &Value,
        schema: &Value,
        value: &Value,
        path: Path<'_>,
    ) -> Result<(), String> {
        match keyword {
            "$schema" | "$id" | "title" | "description" | "$defs" | "then" | "else" => Ok(()),
            "if" => self.conditional(expected, schema, value, path),
            "allOf" => self.all_of(expected, value, path),
            "propertyNames" => self.names(expected, value, path),
            "$ref" => self.against(self.definition(expected)?, value, path),
            "oneOf" => self.one_of(expected, value, path),
            "properties" => self.properties(expected, value, path),
            "additionalProperties" => self.additional(expected, schema, value, path),
            "items" => self.items(expected, value, path),
            _ => simple(keyword, expected, value, path),
        }
    }

    fn definition(&self, reference: &Value) -> Result<&Value, String> {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
        pointer
            .and_then(|pointer| self.root.pointer(pointer))
            .ok_or_else(|| format!("no such definition: {reference}"))
    }

    fn one_of(&self, expected: &Value, value: &Value, path: Path<'_>) -> Result<(), String> {
        let choices = expected.as_array().ok_or("oneOf is an array")?;
        let fitting = choices.iter().filter(|choice| self.against(choice, value, path).is_ok()).count();
        ensure(fitting == 1, || format!("{path}: fits {fitting} of the choices, not one"))
    }

    fn all_of(&self, expected: &Value, value: &Value, path: Path<'_>) -> Result<(), String> {
        let parts = expected.as_array().ok_or("allOf is an array")?;
        parts.iter().try_for_each(|part| self.against(part, value, path))
    }

    fn conditional(
        &self,
        condition: &Value,
        schema: &Value,
        value: &Value,
        path: Path<'_>,
    ) -> Result<(), String> {
        let branch = if self.against(condition, value, path).is_ok() { "then" } else { "else" };
        schema.get(branch).map_or(Ok(()), |branch| self.against(branch, value, path))
    }

    fn names(&self, expected: &Value, value: &Value, path: Path<'_>) -> Result<(), String> {
        let Some(members) = value.as_object() else { return Ok(()) };
        members.keys().try_for_each(|key| self.against(expected, &key.as_str().into(), path))
    }

    fn properties(&self, expected: &Value, value: &Value, path: Path<'_>) -> Result<(), String> {
        let (Some(known), Some(members)) = (expected.as_object(), value.as_object()) else { return Ok(()) };
        members.iter().try_for_each(|(key, member)| match known.get(key) {
            Some(schema) => self.against(schema, member, &format!("{path}.{key}")),
            None => Ok(()),
        })
    }

    fn additional(
        &self,
        expected: &Value,
        schema: &Value,
        value: &Value,
        path: Path<'_>,
    ) -> Result<(), String> {
        let Some(members) = value.as_object() else { return Ok(()) };
        let mut unknown = members.iter().filter(|(key, _)| schema["properties"].get(key).is_none());
        unknown.try_for_each(|(key, member)| match expected {
            Value::Bool(false) => Err(format!("{path}: has an unknown member {key:?}")),
            _ => self.against(expected, member, &format!("{path}.{key}")),
        })
    }

    fn items(&self, expected: &Value, value: &Value, path: Path<'_>) -> Result<(), String> {
        let Some(items) = value.as_array() else { return Ok(()) };
        let mut numbered = items.iter().enumerate();
        numbered.try_for_each(|(index, item)| self.against(expected, item, &format!("{path}[{index}]")))
    }
}

/// Checks the keywords that concern one value alone.
fn simple(keyword: &str, expected: &Value, value: &Value, path: Path<'_>) -> Result<(), String> {
    let holds = match keyword {
        "type" => has_type(expected, value),
        "const" => value == expected,
        "enum" => expected.as_array().is_some_and(|choices| choices.contains(value)),
        "required" => has_members(expected, value),
        "minimum" => !value.is_number() || ordered(expected, value),
        "maximum" => !value.is_number() || ordered(value, expected),
        "minLength" | "maxLength" => {
            bounded(keyword, expected, value.as_str().map(|text| text.chars().count()))
        }
        "pattern" => value.as_str().is_none_or(|text| has_pattern(expected, text)),
        "uniqueItems" => value.as_array().is_none_or(|items| are_unique(items)),
        "minItems" | "maxItems" => bounded(keyword, expected, value.as_array().map(Vec::len)),
        "minProperties" => bounded(keyword, expected, value.as_object().map(serde_json::Map::len)),
        _ => return Err(format!("the schema uses {keyword:?}, which nothing here checks")),
    };
    ensure(holds, || format!("{path}: {keyword} is not {expected}"))
}

fn has_type(expected: &Value, value: &Value) -> bool {
    match expected {
        Value::Array(choices) => choices.iter().any(|choice| has_type(choice, value)),
        Value::String(name) => match name.as_str() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "integer" => value.is_u64() || value.is_i64(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            _ => false,
        },
        _ => false,
    }
}

/// Whether two unsigned numbers are in this order; the schema bounds no other ones.
fn ordered(low: &Value, high: &Value) -> bool {
    low.as_u64().zip(high.as_u64()).is_some_and(|(low, high)| low <= high)
}

fn has_members(expected: &Value, value: &Value) -> bool {
    let (Some(keys), Some(members)) = (expected.as_array(), value.as_object()) else { return true };
    keys.iter().all(|key| key.as_str().is_some_and(|key| members.contains_key(key)))
}

/// Whether the text has the pattern; an invalid pattern fits nothing.
fn has_pattern(expected: &Value, text: &str) -> bool {
    let pattern = expected.as_str().and_then(|pattern| regex_lite::Regex::new(pattern).ok());
    pattern.is_some_and(|pattern| pattern.is_match(text))
}

fn are_unique(items: &[Value]) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    items.iter().all(|item| seen.insert(item.to_string()))
}

/// Checks a length against its bound; the keyword does not apply to a value without a length.
fn bounded(keyword: &str, expected: &Value, length: Option<usize>) -> bool {
    let Some(length) = length.map(|length| length as u64) else { return true };
    let bound = expected.as_u64();
    bound.is_some_and(|bound| if keyword.starts_with("min") { length >= bound } else { length <= bound })
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}
