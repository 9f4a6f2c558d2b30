//! Options of IOzone that change how files are opened, filled, ordered and reported.

use crate::*;

/// The calls that a command makes, one a line; none without strace.
fn calls(lab: &Lab, trace: &str, command: &str) -> Option<String> {
    let log = lab.path("calls").display().to_string();
    let filter = format!("trace={trace}");
    let wrapper = ["strace", "-f", "-y", "-qq", "-e", &filter, "-o", &log];
    if let Some(why) = iosonar_testkit::lacks(&["strace"]) {
        iosonar_testkit::skip(command, &why);
        return None;
    }
    let ended = iosonar_testkit::Ended::of(lab.command_under(&wrapper, command).output().unwrap());
    assert_eq!(ended.code, 0, "{command}: {}", ended.err);
    Some(std::fs::read_to_string(&log).unwrap())
}

/// Files are opened with the flag that was asked for, in each front end, and without it with none.
#[test]
fn open_flags_reach_the_kernel() {
    let lab = lab();
    lab.file("there", vec![1; 1 << 16]);
    let run = "run --buffered --no-progress --start-delay 0 -t there --rw read --bs 4k --engine sync -o";
    let iozone = "iozone -i 0 -i 1 -s 64k -f there --destroy -w";
    for (command, flag) in [
        (format!("{run} plain"), None),
        (format!("{run} sync --sync"), Some("O_SYNC")),
        (format!("{run} dsync --sync=dsync"), Some("O_DSYNC")),
        // On Linux it is the same flag.
        (format!("{run} rsync --sync=rsync"), Some("O_SYNC")),
        (iozone.to_string(), None),
        (format!("{iozone} -o"), Some("O_SYNC")),
        (format!("{iozone} -+D"), Some("O_DSYNC")),
        (format!("{iozone} -+D -o"), Some("O_SYNC")),
        (format!("{iozone} -+r"), Some("O_SYNC")),
    ] {
        let Some(text) = calls(&lab, "openat", &command) else { return };
        // By its name, or again through its descriptor.
        let is_own = |line: &&str| line.ends_with(&format!("{}>", lab.path("there").display()));
        let own: Vec<&str> = text.lines().filter(is_own).collect();
        assert!(!own.is_empty(), "{command}: {text}");
        let flagged = |name: &str| own.iter().any(|line| line.contains(name));
        for name in ["O_SYNC", "O_DSYNC"] {
            assert_eq!(flagged(name), flag == Some(name), "{command}: {own:#?}");
        }
    }
    let refused = lab.expect(2, &format!("{run} never --sync=often"));
    assert!(refused.err.contains("--sync=often: there are none, sync (O_SYNC)"), "{}", refused.err);
    let refused = lab.expect(2, "replay l.load -t there --sync=often");
    assert!(refused.err.contains("there is no flag 'often'"), "{}", refused.err);
}
