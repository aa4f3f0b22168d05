//! Looks for the context: `context.json` or `context.toml` directly in a granted root, one in all.

use firstfault_plugin::{Error, Files};

use crate::convert;

/// The longest document that the host reads.
const LONGEST: u64 = 64 * 1024 * 1024;

/// A context as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Name for messages.
    pub name: String,
    /// The document.
    pub json: String,
}

/// The one document below all roots, if there is one.
///
/// # Errors
/// `malformed`: there are several, or it cannot be read as text or TOML; else what the host says of a file.
pub fn document(files: &dyn Files) -> Result<Option<Found>, Error> {
    let roots = files.roots();
    let mut found: Vec<(String, String, String)> = Vec::new();
    for root in &roots {
        for path in candidates(files, root)? {
            // The names of roots are the host's; with one root they only confuse.
            let name = if roots.len() > 1 { format!("{root}/{path}") } else { path.clone() };
            found.push((root.clone(), path, name));
        }
    }
    let (root, path, name) = match found.as_slice() {
        [] => return Ok(None),
        [one] => one,
        [(.., first), (.., second), ..] => {
            let message = format!("{first} and {second} both say what ran: give one of them");
            return Err(Error::malformed(message).with("path", second.as_str()));
        }
    };
    let bytes = files.read(root, path, LONGEST).map_err(|error| error.about(name))?;
    let text = String::from_utf8(bytes).map_err(|_| Error::malformed(format!("{name}: not UTF-8 text")))?;
    let json = if path.ends_with(".toml") {
        convert::to_json(&text).map_err(|error| error.about(name))?
    } else {
        text
    };
    Ok(Some(Found { name: name.clone(), json }))
}

/// Contexts directly in a root. Entries come in byte order, so the search ends behind the last name.
fn candidates(files: &dyn Files, root: &str) -> Result<Vec<String>, Error> {
    const NAMES: [&str; 2] = ["context.json", "context.toml"];
    let mut found = Vec::new();
    let mut offset = 0_u32;
    loop {
        let page = files.page(root, "", offset).map_err(|error| error.about(root))?;
        let passed = page.last().is_none_or(|last| last.path.as_str() >= NAMES[1])
            || page.len() < files.page_size() as usize;
        offset = offset.saturating_add(u32::try_from(page.len()).unwrap_or(u32::MAX));
        found.extend(
            page.into_iter()
                .filter(|entry| entry.kind == "file" && NAMES.contains(&entry.path.as_str()))
                .map(|entry| entry.path),
        );
        if passed {
            return Ok(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use firstfault_plugin::testing::MemoryFiles;

    use super::*;

    #[test]
    fn a_document_is_found_among_many_files() {
        let mut files = MemoryFiles::new()
            .file("given-0", "context.json", r#"{"id": "1"}"#)
            .link("given-0", "context.toml");
        for n in 0..20 {
            files = files.file("given-0", &format!("a{n}.log"), "").file("given-0", &format!("z{n}.log"), "");
        }
        let found = document(&files).unwrap().unwrap();
        assert_eq!((found.name.as_str(), found.json.as_str()), ("context.json", r#"{"id": "1"}"#));
    }

    #[test]
    fn toml_becomes_json() {
        let files = MemoryFiles::new().file("b", "context.toml", "id = \"7\"").file("a", "job.log", "");
        let found = document(&files).unwrap().unwrap();
        assert_eq!((found.name.as_str(), found.json.as_str()), ("b/context.toml", r#"{"id":"7"}"#));
    }

    #[test]
    fn without_one_there_is_none() {
        assert_eq!(document(&MemoryFiles::new()).unwrap(), None);
        let files =
            MemoryFiles::new().file("a", "job.log", "").file("b", "deep/context.json", "{}").root("c");
        assert_eq!(document(&files).unwrap(), None);
    }

    #[test]
    fn two_are_named_and_refused() {
        let roots = MemoryFiles::new().file("a", "context.json", "{}").file("b", "context.toml", "");
        let error = document(&roots).unwrap_err();
        assert_eq!(error.code, "malformed");
        assert!(
            error.message.contains("a/context.json") && error.message.contains("b/context.toml"),
            "{}",
            error.message
        );
        let beside = MemoryFiles::new().file("a", "context.json", "{}").file("a", "context.toml", "");
        assert_eq!(document(&beside).unwrap_err().code, "malformed");
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let bytes = MemoryFiles::new().file("a", "context.json", [0xff_u8, 0xfe]);
        assert!(document(&bytes).unwrap_err().message.starts_with("context.json: "));
        let broken = MemoryFiles::new().file("a", "context.toml", "id = ");
        assert!(document(&broken).unwrap_err().message.starts_with("context.toml: "));
    }
}
