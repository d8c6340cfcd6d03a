//! Changes of files as the text of a patch, in which rules find the paths.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::frame::text;

/// The arguments of `apply_patch` for the changes in an item.
pub(super) fn arguments(item: &Value) -> Value {
    let changes = item.get("changes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // With a path that cannot be written in a patch, no rule allows it.
    let patch = of(changes).unwrap_or_default();
    json!({ "patch": patch })
}

fn of(changes: &[Value]) -> Option<String> {
    let mut patch = "*** Begin Patch\n".to_owned();
    for change in changes {
        let kind = change.get("kind").unwrap_or(&Value::Null);
        let (verb, mark) = match text(kind, "type")? {
            "add" => ("Add", "+"),
            "delete" => ("Delete", "-"),
            "update" => ("Update", ""),
            _ => return None,
        };
        let _ = writeln!(patch, "*** {verb} File: {}", path(text(change, "path")?)?);
        if let Some(target) = text(kind, "move_path") {
            let _ = writeln!(patch, "*** Move to: {}", path(target)?);
        }
        for line in text(change, "diff").unwrap_or_default().lines() {
            let _ = writeln!(patch, "{mark}{line}");
        }
    }
    patch.push_str("*** End Patch");
    (!changes.is_empty()).then_some(patch)
}

/// A path that is one line.
fn path(path: &str) -> Option<&str> {
    let is_line = path.trim() == path && !path.is_empty() && !path.contains(char::is_control);
    is_line.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_every_path() {
        let item = json!({ "changes": [
            { "path": "/w/a.txt", "kind": { "type": "add" }, "diff": "*** Delete File: b\nhi\n" },
            { "path": "/w/c.txt", "kind": { "type": "update", "move_path": "/w/d.txt" }, "diff": "@@ -1 +1 @@\n-x\n+y\n" },
        ] });
        assert_eq!(
            arguments(&item)["patch"],
            "*** Begin Patch\n*** Add File: /w/a.txt\n+*** Delete File: b\n+hi\n*** Update File: /w/c.txt\n*** Move to: /w/d.txt\n\
             @@ -1 +1 @@\n-x\n+y\n*** End Patch"
        );
        for odd in [
            json!({}),
            json!({ "changes": [] }),
            json!({ "changes": [{ "path": "a\n*** Add File: /x", "kind": { "type": "add" } }] }),
            json!({ "changes": [{ "path": "a", "kind": { "type": "brand_new" } }] }),
        ] {
            assert_eq!(arguments(&odd)["patch"], "", "{odd}");
        }
    }
}
