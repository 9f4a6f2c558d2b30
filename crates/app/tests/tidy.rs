//! House rules as tests: the arrows between the rooms, a page of documentation in each module, no leftovers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every arrow that is allowed. A new one is a conversation about the architecture, and a line in
/// docs/ARCHITECTURE.md.
const ARROWS: [(&str, &[&str]); 37] = [
    ("text", &[]),
    ("plan", &["text"]),
    ("trace", &["plan"]),
    ("load", &["os", "plan", "text", "trace"]),
    ("sched", &["plan"]),
    ("os", &["text"]),
    ("backend", &["plan", "os"]),
    ("evidence", &[]),
    ("layout", &[]),
    ("archive", &["evidence", "layout", "os", "plan", "text"]),
    ("record", &["archive", "os", "plan"]),
    ("host", &["evidence", "layout", "os", "text"]),
    ("scratch", &["host", "os", "plan", "text"]),
    ("capture", &["os", "plan", "text", "trace"]),
    ("content", &["plan"]),
    (
        "engine",
        &[
            "archive", "backend", "content", "evidence", "host", "layout", "load", "os", "plan", "record",
            "sched", "text", "trace", "verify",
        ],
    ),
    ("analyze", &["archive", "evidence", "layout", "os", "plan", "text"]),
    ("path", &["analyze", "layout", "plan", "trace"]),
    ("verify", &["archive", "content", "plan"]),
    ("plaintext", &["analyze", "archive", "judge", "layout", "plan", "text"]),
    ("view", &["analyze", "archive", "layout", "plaintext", "plan", "text"]),
    ("cells", &["analyze", "layout", "plan", "text"]),
    ("dialect-common", &["text"]),
    ("dialect-blkreplay", &["analyze", "archive", "dialect-common", "plan", "text", "trace"]),
    ("dialect-iozone", &["cells", "dialect-common", "plan", "text"]),
    ("dialect-xdd", &["analyze", "archive", "dialect-common", "plan", "text", "trace"]),
    ("judge", &["analyze", "archive", "evidence", "plan", "text"]),
    ("story", &["analyze", "archive", "cells", "judge", "plan", "text"]),
    (
        "inputs",
        &[
            "analyze",
            "archive",
            "dialect-blkreplay",
            "evidence",
            "judge",
            "os",
            "plan",
            "story",
            "text",
            "trace",
        ],
    ),
    (
        "runner",
        &[
            "analyze", "archive", "capture", "engine", "evidence", "host", "inputs", "judge", "load", "os",
            "path", "plan", "text", "trace",
        ],
    ),
    (
        "cluster",
        &["analyze", "archive", "engine", "evidence", "host", "load", "os", "plan", "runner", "text"],
    ),
    (
        "studies",
        &[
            "analyze",
            "archive",
            "cells",
            "capture",
            "content",
            "dialect-blkreplay",
            "dialect-iozone",
            "dialect-xdd",
            "engine",
            "evidence",
            "host",
            "inputs",
            "judge",
            "layout",
            "load",
            "os",
            "plaintext",
            "plan",
            "runner",
            "scratch",
            "story",
            "text",
            "trace",
        ],
    ),
    (
        "iosonar",
        &["analyze", "archive", "engine", "inputs", "os", "plan", "runner", "studies", "text", "trace"],
    ),
    ("serve", &[]),
    ("testkit", &["archive", "os", "plan"]),
    ("bench", &["analyze", "archive", "dialect-blkreplay", "os", "plan", "trace", "view"]),
    (
        "app",
        &[
            "analyze",
            "archive",
            "cells",
            "cluster",
            "dialect-blkreplay",
            "dialect-iozone",
            "dialect-xdd",
            "engine",
            "evidence",
            "host",
            "inputs",
            "judge",
            "layout",
            "load",
            "os",
            "plaintext",
            "plan",
            "runner",
            "scratch",
            "serve",
            "studies",
            "text",
            "trace",
            "view",
        ],
    ),
];

fn manifests() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (folder, prefix) in [("crates", ""), ("crates/dialects", "dialect-")] {
        for entry in fs::read_dir(root().join(folder)).into_iter().flatten().flatten() {
            let Ok(text) = fs::read_to_string(entry.path().join("Cargo.toml")) else { continue };
            found.insert(format!("{prefix}{}", entry.file_name().to_string_lossy()), text);
        }
    }
    found
}

/// Rooms that a manifest names in its `[dependencies]`.
fn rooms(manifest: &str) -> BTreeSet<String> {
    let section = manifest.split("\n[dependencies]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let names = section.lines().filter_map(|l| l.strip_prefix("iosonar-")?.split(['.', ' ', '=']).next());
    names.map(String::from).collect()
}

#[test]
fn rooms_depend_only_on_allowed_rooms() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.into_iter().collect();
    for (room, manifest) in manifests() {
        let may = allowed.get(room.as_str()).unwrap_or_else(|| panic!("{room} is not in the list of rooms"));
        for other in rooms(&manifest) {
            assert!(
                may.contains(&other.as_str()),
                "{room} must not lean on {other}: see docs/ARCHITECTURE.md"
            );
        }
    }
}

#[test]
fn unsafe_code_lives_in_one_room() {
    for (room, manifest) in manifests() {
        let forbids = manifest.contains("[lints]\nworkspace = true");
        assert!(forbids || room == "os", "{room} must take the workspace's lints, which forbid unsafe code");
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.is_symlink() {
                found.push(path);
            }
        }
    }
    let mut files = Vec::new();
    walk(&root().join("crates"), &mut files);
    files.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn modules_have_docs_and_no_leftovers() {
    let files = sources();
    assert!(files.len() > 60);
    for (path, text) in files {
        let name = path.display();
        assert!(text.starts_with("//!"), "{name} does not begin by saying what it is for");
        // Put together here, so that this file does not find itself.
        for leftover in [["TO", "DO"], ["FIX", "ME"], ["db", "g!("], ["unimplemented", "!("], ["to", "do!("]]
        {
            assert!(!text.contains(&leftover.concat()), "{name} contains {}", leftover.concat());
        }
    }
}

/// The product's part of a file: without its tests.
fn product(text: &str) -> &str {
    let is_module = |(at, mark): &(usize, &str)| {
        let line = text[at + mark.len()..].lines().next().unwrap_or_default();
        line.ends_with('{')
    };
    let tests = text.match_indices("#[cfg(test)]\nmod ").find(is_module);
    tests.map_or(text, |(at, _)| &text[..at])
}

/// Texts for users take the field's standard terms.
#[test]
fn texts_use_standard_terms() {
    let jargon =
        ["reap lag", "issue error", "handed out", "leave it out", "left out", " anew", "the begin of"];
    let mut found = Vec::new();
    for (path, text) in sources() {
        // The list of words that help does without.
        if path.ends_with("app/src/args/mod.rs") || path.components().any(|part| part.as_os_str() == "tests")
        {
            continue;
        }
        let lines = product(&text).lines().filter(|line| !line.trim_start().starts_with("//"));
        let quoted = lines.filter_map(|line| line.split_once('"').map(|(_, quoted)| quoted));
        let has = |line: &&str| jargon.iter().any(|word| line.contains(word));
        found.extend(quoted.filter(has).map(|line| format!("{}: {line}", path.display())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Files of the product, not of its tests: modules that a file declares for tests alone are none of them.
fn product_sources() -> Vec<(PathBuf, String)> {
    let others = ["/tests/", "/testkit/", "/bench/", "/build.rs", "/examples/"];
    let sources = sources();
    let for_tests: Vec<PathBuf> =
        sources.iter().flat_map(|(path, text)| modules_for_tests(path, text)).collect();
    let is_product = |path: &Path| {
        let name = path.to_string_lossy();
        name.contains("/src/")
            && !others.iter().any(|other| name.contains(other))
            && !for_tests.iter().any(|module| path.with_extension("").starts_with(module))
    };
    sources.into_iter().filter(|(path, _)| is_product(path)).collect()
}

/// The modules that a file declares under `#[cfg(test)]` and keeps in files of their own, as paths without an extension.
fn modules_for_tests(path: &Path, text: &str) -> Vec<PathBuf> {
    let is_root = ["lib.rs", "main.rs", "mod.rs"].iter().any(|root| path.ends_with(root));
    let folder = if is_root {
        path.parent().expect("a file has a folder").to_owned()
    } else {
        path.with_extension("")
    };
    let declared = text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| {
        let line = rest.lines().next()?.strip_suffix(';')?;
        line.split_once("mod ").map(|(_, name)| name)
    });
    declared.map(|name| folder.join(name)).collect()
}

/// A path that is printed is escaped by `text::shown`. What `.display()` makes is data: a string for JSON and for comparison, or a
/// file that this program reads again.
#[test]
fn paths_are_escaped_where_they_are_printed() {
    const DATA: [&str; 3] = ["capture/src/blktrace.rs", "cluster/src/member.rs", "load/src/known.rs"];
    let mut found = Vec::new();
    let is_data = |path: &Path| DATA.iter().any(|data| path.ends_with(data));
    for (path, text) in product_sources().into_iter().filter(|(path, _)| !is_data(path)) {
        let lines = product(&text).lines().filter(|line| !line.trim_start().starts_with("//"));
        let is_printed =
            |line: &&str| line.matches(".display()").count() > line.matches(".display().to_string()").count();
        found.extend(lines.filter(is_printed).map(|line| format!("{}: {line}", path.display())));
    }
    assert!(found.is_empty(), "print it with iosonar_text::shown:\n{}", found.join("\n"));
}

/// Whatever creates a file could overwrite one. `os::create` creates exclusively, `host::output` judges what users name;
/// targets pass the write guard and are created by `engine::files`.
#[test]
fn only_the_output_rooms_create_files() {
    const CREATE: [&str; 15] = [
        "File::create",
        "create_new(",
        ".create(true)",
        "fs::write(",
        "fs::copy(",
        "fs::rename(",
        "fs::hard_link(",
        "::symlink(",
        "symlinkat(",
        "fs::create_dir",
        "DirBuilder",
        "NamedTempFile",
        "OFlags::CREATE",
        "OFlags::TMPFILE",
        "O_CREAT",
    ];
    let may = ["os/src/create.rs", "engine/src/files.rs"];
    let mut judged = 0;
    for (path, text) in product_sources() {
        let name = path.to_string_lossy();
        if may.iter().any(|file| name.ends_with(file)) {
            continue;
        }
        judged += 1;
        for word in CREATE {
            assert!(!product(&text).contains(word), "{name}: {word}: use os::create or host::output");
        }
    }
    assert!(judged > 200);
}

/// Refuses words in the code of the product, except in files that `may` have them.
fn forbid(words: &[&str], remedy: &str, may: impl Fn(&str) -> bool) {
    let mut judged = 0;
    for (path, text) in product_sources() {
        let name = path.to_string_lossy();
        if may(&name) {
            continue;
        }
        judged += 1;
        let code = product(&text).lines().filter(|line| !line.trim_start().starts_with("//"));
        for (line, word) in code.flat_map(|line| words.iter().map(move |word| (line, word))) {
            assert!(!line.contains(word), "{name}: {word}: {remedy}");
        }
    }
    assert!(judged > 200);
}

/// Whatever removes, unmounts or detaches by a name can meet something of somebody else's. `os::made` knows what this process has
/// made by an identity; all other rooms remove through it.
#[test]
fn only_the_ownership_room_removes_things() {
    const REMOVE: [&str; 13] = [
        "remove_file(",
        "remove_dir(",
        "remove_dir_all(",
        "unlinkat(",
        "unlink(\"",
        "UnmountFlags",
        "umount2",
        "\"umount\"",
        "CLR_FD",
        "OFlags::TRUNC",
        ".truncate(true)",
        "tempdir()",
        "TempDir",
    ];
    // The setuid program unmounts for a user whom the table of file systems lets do so. Attributes of the kernel are truncated.
    let may = ["os/src/loopdev.rs", "host/src/remount.rs", "os/src/create.rs"];
    forbid(&REMOVE, "use os::made", |name| {
        name.contains("os/src/made/") || may.iter().any(|file| name.ends_with(file))
    });
}

/// Rooms below the command can be embedded: they report to an observer, and only the command knows arguments, a terminal and exit codes.
#[test]
fn rooms_below_app_use_no_terminal_or_exit() {
    const TERMINAL: [&str; 8] = [
        "io::stdout",
        "io::stderr",
        "println!(",
        "eprintln!(",
        "print!(",
        "process::exit",
        "clap",
        "std::env::args",
    ];
    // Standard output is one of the outputs that a user may name: `-`. The width of a terminal is that of standard error.
    let may = ["host/src/output.rs", "host/src/output/reserved.rs", "os/src/terminal.rs"];
    forbid(&TERMINAL, "report it to the observer", |name| {
        name.contains("crates/app/") || name.contains("/fuzz/") || may.iter().any(|file| name.ends_with(file))
    });
}

/// Files that use each other cannot be read one after the other. `lab/circles.py ROOM` names those of the largest circle.
#[test]
fn dependency_cycles_of_files_are_small() {
    const MOST: usize = 5;
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        println!("SKIPPED: circles of files, because there is no python3");
        return;
    }
    let counted = std::process::Command::new(root().join("lab/circles.py")).output().expect("it starts");
    assert!(counted.status.success(), "{}", String::from_utf8_lossy(&counted.stderr));
    let counted = String::from_utf8(counted.stdout).expect("text");
    let rooms: BTreeMap<&str, usize> = counted
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let files = words.next()?.parse().ok()?;
            Some((words.nth(1)?, files))
        })
        .collect();
    assert!(rooms.len() > 25, "{counted}");
    for (room, files) in rooms {
        assert!(files <= MOST, "{room}: {files} files use each other, at most {MOST} may");
    }
}

/// A command is arguments, a question and what is printed.
#[test]
fn command_files_stay_short() {
    let is_long = |(path, text): &&(PathBuf, String)| {
        path.to_string_lossy().contains("app/src/commands/") && product(text).lines().count() > 120
    };
    let sources = product_sources();
    let long: Vec<_> = sources.iter().filter(is_long).map(|(path, _)| path.display()).collect();
    assert!(long.is_empty(), "files of commands with more than 120 lines: {long:?}");
}

/// A ratchet: idioms that a reader has to decode, counted in the lines of comments.
#[test]
fn idioms_in_comments_only_decrease() {
    const IDIOMS: [&str; 32] = [
        "told",
        "tell",
        "tells",
        "is none",
        "are none",
        "none:",
        "none if",
        "none where",
        "so many",
        "so long",
        "nobody",
        "somebody",
        "anybody",
        "whoever",
        "of its own",
        "of their own",
        "of one's own",
        "goes on",
        "go on",
        "went on",
        "carry out",
        "carried out",
        "hand over",
        "hands over",
        "handed over",
        "comes to",
        "come to",
        "behind",
        "is left",
        "are left",
        "all the same",
        "anew",
    ];
    const HEADLESS: [&str; 2] = ["What ", "Whatever "];
    const LINES: usize = 104;
    let has = |text: &str, idiom: &str| {
        let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        text.match_indices(idiom).any(|(at, _)| {
            is_apart(text[..at].chars().next_back()) && is_apart(text[at + idiom.len()..].chars().next())
        })
    };
    let count = |text: &str| {
        let comments = text.lines().filter_map(|line| line.trim_start().strip_prefix("//"));
        let comments = comments.map(|text| text.trim_start_matches(['/', '!']).trim());
        let is_idiom = |text: &&str| {
            let lower = text.to_lowercase();
            let is_headless =
                HEADLESS.iter().any(|word| text.starts_with(word) || text.contains(&format!(". {word}")));
            is_headless || IDIOMS.iter().any(|idiom| has(&lower, idiom))
        };
        comments.filter(is_idiom).count()
    };
    let mut counts: Vec<(usize, PathBuf)> = sources()
        .into_iter()
        .map(|(path, text)| (count(&text), path))
        .filter(|(lines, _)| *lines > 0)
        .collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let lines: usize = counts.iter().map(|(lines, _)| lines).sum();
    let most: Vec<String> =
        counts.iter().take(10).map(|(lines, path)| format!("{lines} {}", path.display())).collect();
    assert!(lines <= LINES, "{lines} lines of comments have idioms, {LINES} had:\n{}", most.join("\n"));
    assert!(lines + 50 > LINES, "only {lines} lines of comments have idioms: lower the number here");
}

/// Lines of the longest function of a file's product part, and its name.
fn longest_function(text: &str) -> (usize, String) {
    let product = product(text);
    let (mut longest, mut open) = ((0, String::new()), None);
    for (number, line) in product.lines().enumerate() {
        let trimmed = line.trim_start();
        let indent = &line[..line.len() - trimmed.len()];
        let head = ["fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn "];
        if let Some(rest) = head.iter().find_map(|h| trimmed.strip_prefix(h)) {
            let name = rest.split(['(', '<']).next().unwrap_or_default().to_string();
            open = Some((name, number, indent.to_string()));
        } else if let Some((name, start, indent)) = &open
            && line == format!("{indent}}}")
        {
            longest = longest.max((number - start + 1, name.clone()));
            open = None;
        }
    }
    longest
}

/// A ratchet: functions may be long on purpose, but none may grow past a screen and a half unseen.
#[test]
fn functions_stay_short() {
    for (path, text) in sources().iter().filter(|(path, _)| !path.to_string_lossy().contains("/tests")) {
        let (lines, name) = longest_function(text);
        assert!(lines <= 75, "{}: {name} has {lines} lines: cut it, most have below 20", path.display());
    }
}

#[test]
fn every_page_is_linked_and_about_the_product_only() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let pages = fs::read_dir(root().join("docs")).unwrap().flatten().map(|e| e.path());
    let pages: Vec<PathBuf> = pages.filter(|p| p.extension().is_some_and(|e| e == "md")).collect();
    for page in &pages {
        let name = page.file_name().unwrap().to_string_lossy();
        assert!(readme.contains(&format!("docs/{name}")), "README.md does not link docs/{name}");
    }
    for page in pages.into_iter().chain([root().join("README.md"), root().join("CHANGELOG.md")]) {
        let text = fs::read_to_string(&page).unwrap();
        for foreign in ["/work/", "/root/"] {
            assert!(!text.contains(foreign), "{} names {foreign}", page.display());
        }
    }
}

#[test]
fn every_documented_plan_is_valid() {
    let page = fs::read_to_string(root().join("docs/plan.md")).unwrap();
    let plans: Vec<&str> = page.split("```toml\n").skip(1).filter_map(|p| p.split("```").next()).collect();
    assert!(plans.len() >= 4);
    for text in plans {
        let plan = iosonar_plan::Plan::from_toml(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(iosonar_plan::Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }
}

#[test]
fn every_licence_of_a_dependency_is_allowed() {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let deny = fs::read_to_string(root().join("deny.toml")).unwrap();
    let list =
        deny.lines().find_map(|l| l.strip_prefix("allow = ")).expect("deny.toml has a list of licences");
    let allow: Vec<String> = serde_json::from_str(list).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 30);
    for package in packages {
        let expression = package["license"].as_str().unwrap_or("none");
        assert!(
            is_allowed(expression, &allow),
            "{}: licence {expression} is not in deny.toml",
            package["name"]
        );
    }
}

/// Whether some way to read the expression needs allowed licences only: `AND` binds its parts, `OR` and the old
/// `/` offer a choice.
fn is_allowed(expression: &str, allow: &[String]) -> bool {
    let choices = |part: &str| {
        let part = part.replace(['(', ')'], "");
        part.split(" OR ").flat_map(|p| p.split('/')).any(|licence| allow.iter().any(|a| a == licence.trim()))
    };
    expression.split(" AND ").all(choices)
}
