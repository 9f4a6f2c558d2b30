//! The picture of few and many methods, its golden file, and its required content.

use super::super::pieces;
use super::*;
use crate::scene::Mark;
use iosonar_analyze::{Caution, CautionId, Severity};
use iosonar_layout::{Extent, Kind, Scan, Volume};
use std::path::Path;
use std::sync::Arc;

const FILE: u64 = 192 << 20;

fn map(extents: &[(u64, u64, u64, u32)], is_xfs: bool) -> Map {
    let groups = is_xfs.then_some(Groups { count: 4, bytes: 512 << 20 });
    let volume = Volume {
        kind: if is_xfs { "xfs" } else { "btrfs" }.into(),
        mount_point: Some("/mnt".into()),
        source: Some("/dev/sdx".into()),
        block_bytes: 4096,
        groups,
        bytes: is_xfs.then_some(2 << 30),
        addresses: if is_xfs { Addresses::Device } else { Addresses::Logical },
    };
    let mut scan = Scan::new(FILE, 4096, groups, true);
    extents.iter().for_each(|(o, p, l, f)| scan.add(Extent::new(*o, *p, *l, *f)));
    let (figures, rows) = scan.finish();
    let (rows, beyond) = rows.unzip();
    let volume = Arc::new(volume);
    Map { path: "a".into(), volume, size: FILE, extent_size_hint: 0, is_synced: true, figures, rows, beyond }
}

/// A file of fragments of this size, with gaps of the same size.
fn fragmented(bytes: u64) -> Map {
    let of = |n: u64| (n * bytes, (4 << 20) + 2 * n * bytes, bytes, 0);
    map(&(0..FILE / bytes).map(of).collect::<Vec<_>>(), true)
}

fn whole() -> Map {
    map(&[(0, 600 << 20, FILE, 0)], true)
}

/// A method whose scans run at this rate, up to a few percent.
fn row<'a>(index: usize, name: &str, map: &'a Map, mib: f64) -> LayoutRow<'a> {
    let rate = |percent: f64| mib * MIB * percent / 100.0;
    let pieces = pieces(map.rows.as_deref().unwrap_or_default());
    LayoutRow {
        index,
        name: name.into(),
        fragments: vec![map.figures.fragments],
        map: Some(map),
        created: (!pieces.is_empty()).then(|| rate(60.0)),
        scans: [55.0, 97.0, 99.0, 104.0].map(rate).into(),
        mean: Some(rate(100.0)),
        interval: Some((rate(91.0), rate(110.0))),
        verdict: "no difference shown".into(),
        change: None,
        is_reference: false,
    }
}

fn slower(row: LayoutRow<'_>) -> LayoutRow<'_> {
    LayoutRow { verdict: "slower by 70 to 82 %".into(), change: Some((-81.6, -70.2)), ..row }
}

fn reference(row: LayoutRow<'_>) -> LayoutRow<'_> {
    LayoutRow { verdict: "reference".into(), is_reference: true, ..row }
}

fn subject() -> Subject {
    let caution =
        |text: &str| Caution { id: CautionId::NotDirect, severity: Severity::Warning, text: text.into() };
    Subject {
        what: "files of 192 MiB on xfs, a new file system of 2 GiB for each method (/dev/sdx, rw)".into(),
        how: "scans by buffered reads of 64 KiB, each after eviction from the page cache".into(),
        tool: "iosonar 1.0.0".into(),
        command: "iosonar layout run . --size 192m --scratch 2g".into(),
        cautions: vec![caution("2 of 4 first scans ran at another rate than later ones.")],
        ..Subject::default()
    }
}

fn sentences() -> Vec<String> {
    vec![
        "direct+4k+turns=2: Each direct write asks for 4 KiB; the file has 49152 fragments, records of 4 KiB in the median: \
         requests of 2 files in one directory take turns in the same free space."
            .into(),
        "Scans of direct+4k+turns=2 are slower than those of buffered+whole by 76.5 % (interval -81.6 to -70.2 %)."
            .into(),
    ]
}

fn drawn(rows: &[LayoutRow<'_>], theme: Theme) -> Scene {
    let (subject, sentences) = (subject(), sentences());
    let overview = LayoutOverview { subject: &subject, headline: None, rows, sentences: &sentences };
    draw(&overview, &Style { theme, ..Style::default() })
}

#[test]
fn page_has_the_picture_without_its_words() {
    let (map, subject, sentences) = (whole(), subject(), sentences());
    let rows = [reference(row(0, "buffered+whole", &map, 900.0))];
    let headline = Some("No difference between the scans is shown.");
    let overview = LayoutOverview { subject: &subject, headline, rows: &rows, sentences: &sentences };
    let whole = svg(&draw(&overview, &Style::default()));
    let part = layout_svg(&overview, Theme::Light);
    for words in ["No difference between", "take turns in", "layout run .", "first scans ran"] {
        assert!(whole.contains(words) && !part.contains(words), "{words}: {part}");
    }
    for words in [TITLE, "files of 192 MiB", "buffered+whole", "reference"] {
        assert!(whole.contains(words) && part.contains(words), "{words}: {part}");
    }
}

/// The maps of some methods.
struct Maps {
    turns: Map,
    holes: Map,
    megabytes: Map,
    whole: Map,
    none: Map,
    mixed: Map,
}

impl Maps {
    fn new() -> Maps {
        let kinds = [0, 0x800, 0x8, 0x200];
        let mixed: Vec<_> =
            (0..40u64).map(|n| (n << 22, (90 - n) << 32, 1 << 20, kinds[n as usize % 4])).collect();
        Maps {
            turns: fragmented(4096),
            holes: fragmented(3 << 20),
            megabytes: fragmented(1 << 20),
            whole: whole(),
            none: map(&[], true),
            mixed: map(&mixed, false),
        }
    }

    fn seven(&self) -> Vec<LayoutRow<'_>> {
        vec![
            row(0, "direct+256k", &self.holes, 1500.0),
            reference(row(1, "buffered+whole", &self.whole, 2010.0)),
            row(2, "fallocate+buffered+64k", &self.whole, 1966.0),
            row(3, "truncate+no-data", &self.none, 9000.0),
            slower(LayoutRow {
                fragments: vec![49_150, 49_152],
                ..row(4, "direct+4k+turns=2", &self.turns, 470.0)
            }),
            row(5, "direct+1m", &self.megabytes, 1700.0),
            row(6, "truncate+direct+64k+random+reopen=1m+compressible=50+files=4", &self.whole, 1999.0),
        ]
    }

    fn many(&self, count: usize) -> Vec<LayoutRow<'_>> {
        let all = [&self.turns, &self.holes, &self.mixed, &self.whole, &self.none, &self.megabytes];
        let of = |n: usize| {
            let name = if n.is_multiple_of(3) {
                "direct+4k".into()
            } else {
                format!("a-long-word-{}+", "x".repeat(n)).repeat(2)
            };
            let of = row(n, &name, all[n % all.len()], 100.0 * n as f64);
            let of = if n.is_multiple_of(4) { slower(of) } else { of };
            LayoutRow { interval: (!n.is_multiple_of(5)).then_some((0.0, 1e12)), ..of }
        };
        (0..count).map(of).collect()
    }
}

#[test]
fn text_never_overlaps_or_leaves_the_page() {
    let maps = Maps::new();
    let failed = LayoutRow { name: "direct".into(), verdict: "-".into(), ..LayoutRow::default() };
    let mut all =
        vec![vec![], vec![failed], maps.seven(), maps.seven()[..2].to_vec(), maps.seven()[4..5].to_vec()];
    all.extend([1, 2, 7, 12, 20, 60].map(|count| maps.many(count)));
    for rows in all {
        for theme in [Theme::Light, Theme::Dark] {
            let scene = drawn(&rows, theme);
            let texts: Vec<_> = scene.texts().map(|text| (text.bounds(), &text.text)).collect();
            for (i, (bounds, text)) in texts.iter().enumerate() {
                assert!(bounds.x >= 0 && bounds.right() <= PAGE_WIDTH as i32, "{text}: {bounds:?}");
                assert!(bounds.y >= 0 && bounds.bottom() <= scene.height as i32, "{text}: {bounds:?}");
                let other = texts[i + 1..].iter().find(|(other, _)| bounds.overlaps(other));
                assert!(other.is_none(), "{} rows: '{text}' and {other:?}", rows.len());
            }
        }
    }
}

/// Names of the methods that are shown, from above.
fn names(scene: &Scene) -> Vec<&str> {
    let is_name = |text: &&Text| text.x == NAMES.0 && text.y > TOP && text.size == 14.0;
    scene
        .texts()
        .filter(is_name)
        .map(|text| text.text.as_str())
        .filter(|name| !name.starts_with('+'))
        .collect()
}

#[test]
fn sorts_by_fragmentation_with_reference_after_equals() {
    let maps = Maps::new();
    let rows = maps.seven();
    let scene = drawn(&rows, Theme::Light);
    let expected = [
        "direct+4k+turns=2",
        "direct+1m",
        "direct+256k",
        "fallocate+buffered+64k",
        "truncate+direct+64k+random",
        "buffered+whole",
        "truncate+no-data",
    ];
    assert_eq!(names(&scene), expected);
    let words: Vec<&str> = scene.texts().map(|text| text.text.as_str()).collect();
    for word in [
        "slower by 70 to 82 %",
        "no difference shown",
        "reference",
        "no blocks",
        "in 2 files",
        "mean 470 MiB/s",
    ] {
        assert!(words.contains(&word), "{word}: {words:?}");
    }
    // Reads without the device do not stretch the axis.
    assert!(words.contains(&"2 500") && !words.contains(&"10 000"), "{words:?}");
}

#[test]
fn figures_name_their_json_path() {
    let maps = Maps::new();
    let rows = maps.seven();
    let scene = drawn(&rows, Theme::Light);
    let figures = scene.figures();
    assert_eq!(figures["methods.4.files.1.fragments"], &49_152);
    assert_eq!(figures["methods.0.files.0.fragments"], &64);
    assert_eq!(figures["methods.4.change.low_percent"], &-81.6);
    assert_eq!(figures["methods.1.later_scans.mean"].as_f64(), Some(2010.0 * MIB));
}

#[test]
fn counts_omitted_methods_and_shows_the_reference() {
    let maps = Maps::new();
    let mut rows = maps.many(60);
    rows.push(reference(row(60, "direct+4k", &maps.whole, 1e3)));
    let scene = drawn(&rows, Theme::Light);
    let words: Vec<&str> = scene.texts().map(|text| text.text.as_str()).collect();
    assert!(words.iter().any(|word| word.starts_with("21 more methods")), "{words:?}");
    assert!(words.contains(&"reference"));
}

#[test]
fn separates_wide_fragments_of_equal_size() {
    let gaps = |map: &Map| {
        let rows = [row(0, "direct", map, 1.0)];
        let scene = drawn(&rows, Theme::Light);
        let is_gap = |mark: &&Mark| {
            matches!(mark, Mark::Area { area, fill: Fill::Solid(color) }
                if *color == scene.background && area.w == 1 && (FILES.0..FILES.0 + FILES.1).contains(&area.x))
        };
        scene.marks.iter().filter(is_gap).count()
    };
    let maps = Maps::new();
    assert_eq!([&maps.holes, &maps.whole, &maps.turns].map(gaps), [63, 0, 0]);
    assert_eq!(
        pieces(maps.mixed.rows.as_deref().unwrap()).iter().filter(|p| p.extent.kind == Kind::Encoded).count(),
        10
    );
}

/// `BLESS=1 cargo test -p iosonar-view layout` writes it again. `PICTURES=/some/dir` leaves pictures there, to look at.
#[test]
fn picture_matches_golden_file() {
    let maps = Maps::new();
    let rows = maps.seven();
    let svg = crate::svg::svg(&drawn(&rows, Theme::Light));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/layout-overview.svg");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &svg).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(svg == golden, "layout-overview.svg differs; if that is right, bless it with BLESS=1");
    let (subject, sentences) = (subject(), sentences());
    let overview = LayoutOverview { subject: &subject, headline: None, rows: &rows, sentences: &sentences };
    let png = layout_overview(&overview, Format::Png, &Style::default());
    assert!(png.starts_with(b"\x89PNG") && png.len() < 120_000, "{}", png.len());
    let Some(to) = std::env::var_os("PICTURES") else { return };
    for (name, rows) in [("seven", rows), ("two", maps.many(2)), ("twenty", maps.many(20))] {
        for theme in [Theme::Light, Theme::Dark, Theme::Gray] {
            let file = Path::new(&to).join(format!("{name}-{theme:?}.png"));
            std::fs::write(file, crate::raster::png(&drawn(&rows, theme))).unwrap();
        }
    }
}
