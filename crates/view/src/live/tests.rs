//! The view at three sizes, and properties that hold at all of them.

use super::*;

const S: u64 = 1_000_000_000;

/// A run one minute into five: 2000 requests each second, a stall at second 40, a third of them pushed back.
fn state() -> LiveState {
    let mut state = LiveState::new(Setting {
        title: "replay web.load -> disk.img  push-back  depth 128".into(),
        span: Some(Nanos(300 * S)),
        depth: Some(128),
        late_limit: Some(Nanos(10 * S)),
        cautions: vec!["wraparound factor 0.17".into()],
        base: Nanos(S),
        keys: vec![("q", "uit"), ("+/-", " window"), ("?", "")],
    });
    for second in 0..60 {
        let mut latencies = [[0; LIVE_ROWS]; CLASSES];
        latencies[0][live_row(Nanos(240_000))] = 1000;
        latencies[1][live_row(Nanos(61_000))] = 700;
        latencies[2][live_row(Nanos(1_200_000))] = 300;
        if second == 40 {
            latencies[0][live_row(Nanos(2 * S))] = 5;
        }
        let completed = if second == 40 { 5 } else { 2000 };
        let (from, to) = (Nanos(second * S), Nanos((second + 1) * S));
        state.feed(&Interval { from, to, completed, demanded: Some(2100), latencies });
    }
    let times = |count, us: u64| ClassTimes {
        count,
        p50: Nanos(us * 1000),
        p99: Nanos(us * 30_000),
        max: Nanos(us * 9_000_000),
    };
    state.set_moment(Moment {
        time: Nanos(60 * S),
        done: Some(0.2),
        in_flight: Some(117),
        waiting: Some(3),
        backlog: Some(4210),
        late: Nanos(310_000_000),
        growth: Some(0.0),
        ends: None,
        failed: 2,
        dropped: 0,
        stalls: LiveStalls { count: 1, last: Some((Nanos(40 * S), Nanos(1_400_000_000))) },
        second: Nanos(S),
        completed: 2000,
        demanded: Some(2100),
        classes: [times(1000, 240), times(700, 61), times(300, 1200)],
        bytes: 38_400_000,
    });
    state
}

const RAMPS: [Ramp; 4] = [Ramp::True, Ramp::Colours256, Ramp::Colours16, Ramp::Mono];
const CHARSETS: [Charset; 2] = [Charset::Unicode, Charset::Ascii];

#[test]
fn any_terminal_size_draws_a_valid_frame() {
    let mut state = state();
    for (ramp, charset) in RAMPS.into_iter().flat_map(|r| CHARSETS.map(|c| (r, c))) {
        for size in [(60, 16), (61, 17), (75, 30), (76, 16), (80, 24), (120, 40), (300, 100), (1, 1)] {
            let frame = draw(&state, size, ramp, charset);
            let size = (size.0.max(LEAST.0), size.1.max(LEAST.1));
            assert_eq!((frame.columns(), frame.rows().len()), size);
            let text = frame.to_text();
            assert!(text.lines().all(|line| line.chars().count() <= size.0));
            assert!(charset == Charset::Unicode || text.is_ascii(), "{text}");
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
            for word in
                ["replay web.load", "01:00/05:00", " 20%", "240", "117/128", "4 210", "310 ms", "[q]uit"]
            {
                assert!(text.contains(word), "{size:?} has no {word}:\n{text}");
            }
        }
        state.widen();
    }
}

/// The same run, which cannot follow and is expected to end at 10:00.
fn late_state() -> LiveState {
    let mut state = state();
    let moment =
        Moment { growth: Some(0.4), in_flight: Some(128), ends: Some(Nanos(600 * S)), ..*state.moment() };
    state.set_moment(moment);
    state
}

#[test]
fn alarm_has_a_line_and_the_end_is_estimated() {
    for size in [(60, 16), (76, 16), (80, 24), (120, 40)] {
        let text = draw(&late_state(), size, Ramp::Mono, Charset::Unicode).to_text();
        let lines: Vec<&str> = text.lines().collect();
        let alarm = " LATE 310 ms and growing 0.4 s/s: 95 %";
        assert!(lines[1].starts_with(alarm) && lines[1].ends_with(", depth full"), "{text}");
        assert!(lines[0].contains("01:00/05:00  end ~10:00   20%"), "{text}");
        // Everything else is there, one row below.
        for word in ["latency", "128/128", "4 210", "310 ms", "failed", "[q]uit"] {
            assert!(text.contains(word), "{size:?} has no {word}:\n{text}");
        }
        let text = draw(&state(), size, Ramp::Mono, Charset::Unicode).to_text();
        assert!(!text.contains("LATE") && !text.contains("end ~"), "{text}");
    }
}

#[test]
fn whole_axis_reaches_to_the_estimated_end() {
    let axis = |state: &mut LiveState| {
        state.show_whole();
        let text = draw(state, (120, 40), Ramp::Mono, Charset::Unicode).to_text();
        text.lines().find(|line| line.contains("1 column = ")).expect("an axis").to_string()
    };
    // 72 columns: of 5 s for 300 s, of 9 s for 600 s.
    assert!(axis(&mut state()).contains("1 column = 5 s"), "{}", axis(&mut state()));
    assert!(axis(&mut late_state()).contains("1 column = 9 s"), "{}", axis(&mut late_state()));
}

#[test]
fn narrowing_the_whole_shows_a_part_of_it() {
    let axis = |state: &LiveState| {
        let text = draw(state, (120, 40), Ramp::Mono, Charset::Unicode).to_text();
        text.lines().find(|line| line.contains("1 column = ")).expect("an axis").to_string()
    };
    let mut state = state();
    state.show_whole();
    for column in ["1 column = 5 s", "1 column = 2 s", "1 column = 1 s", "1 column = 1 s"] {
        assert!(axis(&state).contains(column), "{}", axis(&state));
        state.narrow();
    }
    // A length that is not known has the widest one.
    state.setting.span = None;
    state.show_whole();
    state.narrow();
    assert!(axis(&state).contains("1 column = 1 000 s"), "{}", axis(&state));
}

#[test]
fn stall_appears_at_its_time() {
    for charset in CHARSETS {
        let frame = draw(&state(), (120, 40), Ramp::Colours256, charset);
        let rows: Vec<&[Cell]> = frame.rows().collect();
        let line = |row: usize| rows[row].iter().map(|c| c.glyph).collect::<String>();
        let heading = (0..rows.len()).find(|row| line(*row).starts_with(" latency")).expect("a heading");
        // 2 s is the slowest of all, so it lies in the uppermost line; the axis ends in its row, not at 100 s.
        let top = heading + 1;
        assert_ne!(rows[top][9 + 40].glyph, ' ', "{}", frame.to_text());
        assert_eq!(rows[top][9 + 39].glyph, ' ');
        assert!(!frame.to_text().contains("10s"), "{}", frame.to_text());
        assert!(frame.to_text().contains("1s") && frame.to_text().contains("100"), "{}", frame.to_text());
        if charset == Charset::Ascii {
            continue;
        }
        // Reads are bluish, writes reddish: 240 µs above, 61 µs below the line from 100 µs on.
        let inks: Vec<Ink> =
            rows[top..].iter().map(|row| row[9]).filter(|c| c.glyph != ' ').map(|c| c.ink).collect();
        assert!(inks.iter().any(|ink| *ink != inks[0]), "{}", frame.to_text());
    }
}

#[test]
fn filter_hides_other_operations() {
    let mut state = state();
    let count = |state: &LiveState| {
        let text = draw(state, (80, 24), Ramp::Mono, Charset::Unicode).to_text();
        text.lines()
            .skip(12)
            .map(|l| l.chars().take(40).filter(|c| "▁▂▃▄▅▆▇█".contains(*c)).count())
            .sum::<usize>()
    };
    let all = count(&state);
    state.toggle(Filter::Writes);
    let writes = count(&state);
    state.toggle(Filter::Reads);
    let reads = count(&state);
    assert!(0 < writes && writes < all && 0 < reads && reads < all, "{all} {reads} {writes}");
    state.toggle(Filter::Reads);
    assert_eq!(count(&state), all);
}

#[test]
fn rewind_keeps_view_settings() {
    let mut state = state();
    state.show_whole();
    state.narrow();
    state.toggle(Filter::Writes);
    state.toggle_log();
    state.toggle_help(vec!["help".into()]);
    state.set_note(Some("a note".into()));
    let before = state.clone();
    state.set_base(Nanos(2 * S));
    state.rewind();
    assert_eq!((state.history.len(), state.history.base_ns()), (0, 2 * S));
    assert_eq!(state.moment, Moment::default());
    assert_eq!(
        (state.window, state.filter, state.logarithmic),
        (before.window, before.filter, before.logarithmic)
    );
    assert_eq!((state.help, state.note), (before.help, before.note));
    assert_eq!(state.setting, Setting { base: Nanos(2 * S), ..before.setting });
}

#[test]
fn sends_only_changed_cells() {
    let mut state = state();
    let before = draw(&state, (80, 24), Ramp::Colours256, Charset::Unicode);
    assert_eq!(before.changes(Some(&before)), "");
    assert!(before.changes(None).starts_with("\x1b[0m\x1b[2J"));
    let moment = Moment { in_flight: Some(118), ..*state.moment() };
    state.set_moment(moment);
    let after = draw(&state, (80, 24), Ramp::Colours256, Charset::Unicode);
    let changes = after.changes(Some(&before));
    assert!(changes.ends_with('8') && changes.len() < 12, "{changes:?}");
    // Another size redraws everything.
    assert!(after.changes(Some(&Frame::new(79, 24))).starts_with("\x1b[0m\x1b[2J"));
}

#[test]
fn uses_the_colours_the_terminal_supports() {
    let sent = |ramp| draw(&state(), (80, 24), ramp, Charset::Unicode).changes(None);
    assert!(sent(Ramp::True).contains(";38;2;"));
    assert!(sent(Ramp::Colours256).contains(";38;5;") && !sent(Ramp::Colours256).contains(";38;2;"));
    assert!(!sent(Ramp::Colours16).contains(";38;"));
    // Without colours only cursor positions are sent.
    let mono = sent(Ramp::Mono);
    let ends_of_codes = mono
        .split("\x1b[")
        .skip(2)
        .map(|code| code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
    assert!(ends_of_codes.into_iter().all(|rest| !rest.starts_with('m')), "{mono:?}");
    assert_eq!(Ramp::of(Some("1"), Some("truecolor"), Some("xterm")), Ramp::Mono);
    assert_eq!(Ramp::of(Some(""), None, Some("xterm-256color")), Ramp::Colours256);
    assert_eq!(Ramp::of(None, None, Some("linux")), Ramp::Colours16);
    assert_eq!(Ramp::of(None, Some("truecolor"), Some("xterm")), Ramp::True);
    assert_eq!(Ramp::of(None, Some("truecolor"), Some("dumb")), Ramp::Mono);
}

#[test]
fn replaces_control_characters_in_foreign_text() {
    let mut state = state();
    state.setting.title = "a\x1b[2J\u{9b}31m\u{202e}\u{200b}\u{4e00}\nb".into();
    for charset in CHARSETS {
        let text = draw(&state, (80, 24), Ramp::Mono, charset).to_text();
        assert!(text.starts_with(" a?[2J?31m????b"), "{text}");
    }
    assert_eq!(tame("größe µ", Charset::Unicode), "größe µ");
    assert_eq!(tame("größe", Charset::Ascii), "gr??e");
}

#[test]
fn history_memory_does_not_grow_with_days() {
    let mut history = History::new(Nanos(S));
    for second in 0..100_000 {
        let (from, to) = (Nanos(second * S), Nanos((second + 1) * S));
        history.add(&Interval { from, to, completed: 10, demanded: None, ..Interval::default() });
    }
    assert!(history.len() <= 8192, "{}", history.len());
    let (first, columns) = history.view(usize::MAX, 1);
    assert_eq!(first, 0);
    let sum: f64 = columns.iter().map(|c| c.completed).sum();
    assert!((sum - 1e6).abs() < 1e-3, "{sum}");
    assert!(columns.iter().all(|c| (c.actual().unwrap() - 10.0).abs() < 1e-6));
}

#[test]
fn row_height_is_an_eighth_of_a_decade() {
    for (ns, row) in
        [(0, 0), (999, 0), (1000, 1), (1333, 1), (1334, 2), (9_999, 8), (10_000, 9), (99_999_999_999, 64)]
    {
        assert_eq!(live_row(Nanos(ns)), row, "{ns}");
    }
    assert_eq!((live_row(Nanos(100 * S)), live_row(Nanos(u64::MAX))), (65, 65));
}

#[test]
fn latencies_span_the_axis() {
    for height in 1..=24 {
        for (low, high) in [(0, 0), (0, 65), (65, 65), (20, 31), (1, 64), (3, 4)] {
            let lines = sonar::lines(height, Some((low, high)));
            assert_eq!(lines.len(), height);
            let rows: Vec<usize> = lines.iter().flatten().cloned().flatten().collect();
            assert!((low..=high).all(|row| rows.contains(&row)), "{height} {low} {high}: {lines:?}");
            // At most a decade if the latencies are alike, and only them otherwise.
            let (first, last) = (rows.iter().min().unwrap(), rows.iter().max().unwrap());
            assert!(last - first < (high - low + 1).max(8), "{height} {low} {high}: {lines:?}");
        }
    }
}

#[test]
fn class_colours_match_the_pictures() {
    let p = Ramp::palette();
    assert_eq!(Ramp::True.class(0), Ink::True(p.read));
    assert_eq!(Ramp::True.class(1), Ink::True(p.write));
    assert_eq!(Ramp::True.class(2), Ink::True(p.read_pushed.mix(p.write_pushed, 0.5)));
    assert_eq!(Ramp::Colours256.class(0), Ramp::Colours256.ink(p.read));
}
