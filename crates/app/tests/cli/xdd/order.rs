//! The order of options: the later one holds, also from setup files, in any spelling.

use super::*;

// Check 10.
#[test]
fn later_option_wins_for_all_or_one_target() {
    let lab = lab();
    let kinds = |args: &str| -> Vec<String> {
        let all = rows(&xdd(&lab, 0, &format!("{args} -reqsize 8 -numreqs 2 -verbose")).out);
        let passes = all.iter().filter(|row| row.label == "T PASS0001" || row.label == "Combined");
        passes.map(|row| row.kind.clone()).collect()
    };
    assert_eq!(kinds("-op read -op target 1 write -targets 3 F G H"), ["read", "write", "read", "mixed"]);
    assert_eq!(kinds("-op target 1 write -op read -targets 3 F G H"), ["read", "read", "read", "read"]);
    assert_eq!(kinds("-targets 2 F G -op write -op target 0 read"), ["read", "write", "mixed"]);
}

#[test]
fn accepts_every_way_of_naming_targets() {
    let lab = lab();
    let names = |args: &str| -> Vec<String> {
        let out = xdd(&lab, 0, &format!("-op read -reqsize 8 -numreqs 1 {args}")).out;
        let names = out.lines().filter_map(|line| line.trim().strip_prefix("Target[")?.split(", ").nth(1));
        names.map(ToString::to_string).collect()
    };
    assert_eq!(names("-targets 2 F G -target H"), ["F", "G", "H"]);
    assert_eq!(names("-targets 1 F -targets 2 G F"), ["F", "G", "F"]);
    assert_eq!(names("-targets -3 F"), ["F", "F", "F"]);
    assert_eq!(names("-targets F"), ["F"]);
}

// Checks 12 and 13.
#[test]
fn setup_file_expands_in_place() {
    let lab = lab();
    lab.file("plain", "-reqsize 16 -numreqs 4\n");
    lab.file("lines", "# sizes\n-reqsize\n\t16   # blocks\n\n-numreqs\t4\n#-numreqs 9");
    lab.file("outer", "-setup plain");
    for setup in ["plain", "lines", "outer"] {
        let read = "-op read -targets 1 F";
        for (args, want) in [
            (format!("{read} -reqsize 32 -setup {setup} -numreqs 7"), (114_688, 7)),
            (format!("-setup {setup} {read} -reqsize 32"), (131_072, 4)),
            (format!("{read} -reqsize 32 -numreqs 12 -setup {setup}"), (65_536, 4)),
        ] {
            assert_eq!(moved(&lab, &args), want, "{args}");
        }
    }
    lab.file("quoted", "-id 'of two words' -targets 1 \"a name\"");
    lab.file("a name", [0; 4096]);
    let ended = xdd(&lab, 0, "-op read -setup quoted -reqsize 4 -numreqs 1");
    assert!(ended.out.contains("ID for this run, 'of two words '"), "{}", ended.out);
}

// Check 15.
#[test]
fn last_throttle_wins() {
    let lab = lab();
    let args = "-op read -targets 1 F -reqsize 8 -numreqs 3 -seek save s -throttle ops 100 -throttle bw 1";
    let ended = xdd(&lab, 0, args);
    assert!(ended.out.contains("Throttle in MB/sec,   1.00"), "{}", ended.out);
    let list = std::fs::read_to_string(lab.path("s.T0Q0.txt")).unwrap();
    let times: Vec<&str> = list.lines().skip(2).map(|line| line.split(' ').nth(4).unwrap()).collect();
    assert_eq!(times, ["0000008192000000", "0000016384000000", "0000024576000000"]);
}

// Section 1.1: names that differ between the manual's text and the program.
#[test]
fn spellings_are_equivalent() {
    let lab = lab();
    for args in [
        "-operation read -target F -bs 512 -rs 16 -nr 4 -p 2 -qd 2",
        "–op read –targets 1 F –blocksize 512 –reqsize 16 –numreqs 4 –pass count 2",
        "−op read −targets 1 F −blocksize 512 −reqsize 16 −numreqs 4 −passes 2",
        "-op read -targets 1 F -kb 32 -reqsize 8 -passes 2 -mb 1 -kb 32",
    ] {
        assert_eq!(moved(&lab, args), (65_536, 8), "{args}");
    }
    for (long, short) in [("-combined", "-combinedout"), ("-combo", "-combined")] {
        xdd(&lab, 0, &format!("-op read -targets 1 F -reqsize 8 -numreqs 1 {long} k {short} l"));
    }
    assert_eq!(std::fs::read_to_string(lab.path("l")).unwrap().lines().count(), 2);
    for option in ["-report_threshold", "-reportthreshold", "-rept"] {
        let ended = xdd(&lab, 0, &format!("-op read -targets 1 F -reqsize 8 -numreqs 1 {option} 0"));
        assert!(ended.out.contains("threshold"), "{}", ended.out);
    }
}
