//! `iosonar load derive` against its rules, recomputed in a straightforward way, and against another program's output for loads of others
//! (`transforms.expected.json`).

use crate::filter::{Row, expected, read, sha256};
use crate::*;

fn rows_of(lab: &Lab, file: &str) -> Vec<Row> {
    read(&lab.expect_args(0, &["filter", "shift:0", file]).out)
}

/// The load of a split by the rules of docs/derive.md: windows of `window` without the last one, the busiest first, ties by descending
/// number as text; each m-th of them, end to end.
fn dealt(rows: &[Row], window: u64, loads: usize, number: usize) -> (Vec<usize>, Vec<Row>) {
    let of = |row: &Row| (row.0 / window) as usize;
    let mut snippets = vec![Vec::new(); of(rows.last().unwrap()) + 1];
    rows.iter().for_each(|row| snippets[of(row)].push(row.clone()));
    snippets.pop();
    assert!(snippets.iter().all(|snippet| !snippet.is_empty()));
    let mut order: Vec<usize> = (0..snippets.len()).collect();
    order.sort_by_key(|&n| (snippets[n].len(), n.to_string()));
    order.reverse();
    let mut made: Vec<Row> = Vec::new();
    for &n in order.iter().skip(number).step_by(loads) {
        let (first, begin) = (snippets[n][0].0, made.last().map_or(0, |row| row.0));
        made.extend(snippets[n].iter().map(|(t, s, l, op)| (t - first + begin, *s, *l, op.clone())));
    }
    (order, made)
}

// 64
#[test]
fn busiest_snippets_come_first() {
    let lab = lab();
    let load = recorded(&lab, "database");
    let rows = rows_of(&lab, &load);
    let told = lab.expect(0, &format!("derive overload {load} --window 15s --out cut")).out;
    for loads in [1, 2, 4] {
        for number in 0..loads {
            let name = format!("database.derived.{number:03}.of.{loads}.load.gz");
            let (order, want) = dealt(&rows, 15 * S, loads, number);
            assert_eq!(order.len(), 10);
            assert_eq!(
                rows_of(&lab, &format!("cut/database.derived.split.{loads:03}/{name}")),
                want,
                "{name}"
            );
            let size = |n: &usize| rows.iter().filter(|row| row.0 / (15 * S) == *n as u64).count();
            let words: Vec<String> = order.iter().map(|n| format!("{n} ({})", size(n))).collect();
            assert!(told.contains(&words.join(", ")), "{told}");
        }
    }
    // 10 snippets are not enough for more loads.
    let loads = |split: &str| std::fs::read_dir(lab.path(&format!("cut/database.derived.split.{split}")));
    assert_eq!((loads("008").unwrap().count(), loads("128").unwrap().count()), (8, 10));
    assert!(told.contains("118 more would hold nothing"), "{told}");
}

// 64: extra, where the load lies beside the repository.
#[test]
fn busiest_snippets_match_reference_results() {
    let lab = lab();
    let Some(load) = of_others(&lab, "windows-mssql") else { return };
    let told = lab.expect(0, &format!("derive overload {load} --out cut")).out;
    let want = &expected()["derived windows-mssql window=300"];
    let word = |pair: &Value| format!("{} ({})", pair[1], pair[0]);
    let order: Vec<String> = want["order"].as_array().unwrap().iter().map(word).collect();
    assert!(told.contains(&order.join(", ")), "{told}");
    assert!(told.contains("103 requests"), "{told}");
    for loads in [1, 2, 4] {
        for number in 0..loads {
            let name = format!("windows-mssql.derived.{number:03}.of.{loads}.load.gz");
            let rows = rows_of(&lab, &format!("cut/windows-mssql.derived.split.{loads:03}/{name}"));
            let want = &want[format!("split_{loads:03}")][format!("{number:03}")];
            assert_eq!(rows.len() as u64, want["requests"], "{name}");
            assert_eq!(serde_json::to_value(rows.last().unwrap()).unwrap(), want["last"], "{name}");
            assert_eq!(sha256(&rows), want["sha256"], "{name}");
        }
    }
}

#[test]
fn splits_cover_every_request_once_even_from_stdin() {
    let lab = lab();
    lab.expect(0, "generate mixed a.load --rate 300 --duration 40s");
    lab.expect(0, "generate mixed b.load.gz --rate 200 --duration 25s --seed 2");
    let content = |rows: Vec<Row>| {
        let mut content: Vec<_> = rows.into_iter().map(|(_, s, l, op)| (s, l, op)).collect();
        content.sort();
        content
    };
    let whole = content([rows_of(&lab, "a.load"), rows_of(&lab, "b.load.gz")].concat());
    lab.expect(0, "derive overload a.load b.load.gz --window 7s --split 1,3,5 --out cut --keep-rest");
    for loads in [1, 3, 5] {
        let file = |n| format!("cut/a.derived.split.{loads:03}/a.derived.{n:03}.of.{loads}.load.gz");
        let all: Vec<Row> = (0..loads).flat_map(|n| rows_of(&lab, &file(n))).collect();
        assert_eq!(content(all), whole);
    }
    let mut command = lab.command("derive overload - --window 7s --split 3 --out piped");
    command.stdin(std::fs::File::open(lab.path("a.load")).unwrap());
    let told = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(told.contains("skipped: the last snippet"), "{told}");
    assert!(lab.path("piped/stdin.derived.split.003/stdin.derived.002.of.3.load.gz").exists());
}

#[test]
fn derives_loads_in_adjacent_ranges() {
    let lab = lab();
    // The original lets these two overlap; the third begins at sector 0, which it takes for unset.
    lab.file("a.load", rows(&[("0.5", 100, 8, 'R'), ("2", 200, 8, 'W')]));
    lab.file("b.load", rows(&[("0.5", 50, 8, 'W'), ("1", 40, 8, 'R')]));
    lab.file("c.load", rows(&[("0", 0, 8, 'R')]));
    let made = lab.expect(0, "derive adjacent a.load b.load c.load");
    let want =
        [(0, 136, 8, "R"), (S / 2, 4, 8, "R"), (S / 2, 122, 8, "W"), (S, 112, 8, "R"), (2 * S, 104, 8, "W")];
    let want: Vec<Row> = want.into_iter().map(|(t, s, l, op)| (t, s, l, op.to_string())).collect();
    assert_eq!(read(&made.out), want);
    assert!(made.err.contains("b.load: 2 requests, sectors 40 to 58 are now 112 to 130"), "{}", made.err);
    lab.expect(0, "replay c.load --engine sim --size 1MiB -t dev --no-progress -o r");
    lab.expect(0, "export r --to replay -o r.replay");
    let timed = lab.expect(0, "derive adjacent r.replay").out;
    let latency: f64 = timed.trim_end().rsplit(';').next().unwrap().trim().parse().unwrap();
    assert!(latency > 0.0, "what is known of a request's times stays: {timed}");
}

// 65
#[test]
fn ramp_times_match_the_formula() {
    let lab = lab();
    let load = recorded(&lab, "logs");
    lab.expect(0, &format!("derive ramp {load} --growth 10 -o ramp.load.gz"));
    let (rows, before) = (rows_of(&lab, "ramp.load.gz"), rows_of(&lab, &load));
    let mut time = 0f64;
    for (index, row) in rows.iter().enumerate() {
        assert!(row.0.abs_diff((time * 1e9).round() as u64) <= 1, "request {index}");
        time += 1.0 / (10.0 * time).max(1.0);
    }
    let content = |rows: &[Row]| rows.iter().map(|r| (r.1, r.2, r.3.clone())).collect::<Vec<_>>();
    assert_eq!(content(&rows), content(&before));
}

// 65: extra, where the load lies beside the repository.
#[test]
fn ramp_times_match_reference_results() {
    let lab = lab();
    let Some(load) = of_others(&lab, "windows-shared-server") else { return };
    lab.expect(0, &format!("derive ramp {load} --growth 10 -o ramp.load.gz"));
    let rows = rows_of(&lab, "ramp.load.gz");
    let want = &expected()["ramped windows-shared-server speed=10"];
    assert_eq!(rows.len() as u64, want["requests"]);
    for (index, time) in want["times"].as_object().unwrap() {
        let (seconds, nanos) = time.as_str().unwrap().split_once('.').unwrap();
        let time: u64 = seconds.parse::<u64>().unwrap() * S + nanos.parse::<u64>().unwrap();
        assert!(rows[index.parse::<usize>().unwrap()].0.abs_diff(time) <= 1, "{index}");
    }
}

#[test]
fn failed_derivation_leaves_no_output() {
    let lab = lab();
    lab.file("back.load", rows(&[("2", 0, 8, 'R'), ("1", 8, 8, 'R'), ("400", 16, 8, 'R')]));
    lab.file("short.load", rows(&[("2", 0, 8, 'R')]));
    lab.file("empty.load", rows(&[]));
    std::fs::create_dir_all(lab.path("there/short.derived.split.002")).unwrap();
    for (args, why) in [
        ("derive overload back.load --out x", "back.load: line 3: time runs backward"),
        ("derive overload short.load --out x", "use a smaller --window, or --keep-rest"),
        ("derive overload empty.load --out x", "contains no request"),
        ("derive overload short.load --out x --window 0", "--window 0"),
        ("derive overload short.load --out x --split 0", "--split"),
        ("derive overload short.load --keep-rest --out there --split 1,2", "exists already"),
        ("derive overload - - --out x", "only once"),
        ("derive adjacent short.load back.load -o x", "back.load: line 3: time runs backward"),
        ("derive adjacent short.load empty.load -o x", "empty.load: it contains no request"),
        ("derive adjacent short.load -o short.load", "exists already"),
        ("derive ramp short.load --growth 0 -o x", "--growth"),
    ] {
        let told = lab.expect(2, args).err;
        assert!(told.contains(why), "{args}: {told}");
        assert!(!lab.path("x").exists(), "{args}");
    }
    let inside = std::fs::read_dir(lab.path("there")).unwrap().count();
    assert_eq!(inside, 1);
    for remedy in ["sort", "shift"] {
        lab.expect(0, &format!("derive overload back.load --backward {remedy} --out {remedy} --split 1"));
        lab.expect(0, &format!("derive adjacent back.load --backward {remedy} -o {remedy}.load"));
    }
    assert_eq!(read(&lab.expect(0, "filter shift:0 sort.load").out)[0].0, S);
}
