//! Pictures of whole, small and degenerate matrices.

use super::*;
use crate::scene::{Cell, Mark};
use crate::{Format, Theme};
use std::collections::BTreeSet;
use std::io::Write;

const KIB: u64 = 1024;

/// A machine with caches of 2 MiB and 64 MiB: faster with larger records, slower with larger files.
fn figure(file: u64, record: u64) -> f64 {
    let level = match file {
        0..=0x20_0000 => 11_000.0,
        0x20_0001..=0x400_0000 => 5_200.0,
        _ => 640.0,
    };
    let ripple = 1.0 + 0.06 * ((file / 1024 + record / 512) % 7) as f64 / 7.0;
    level * MIB * ripple * (record as f64 / (record as f64 + 12_000.0))
}

/// The cells of `iozone -a`: 126. No record is larger than its file, and large files have no small records.
fn full() -> MatrixGrid {
    let files: Vec<u64> = (0..14).map(|i| (64 * KIB) << i).collect();
    let records: Vec<u64> = (0..13).map(|i| (4 * KIB) << i).collect();
    let cell = |file: u64, record: u64| {
        let is_measured = record <= file && (file < 32 * KIB * KIB || record >= 64 * KIB);
        is_measured.then(|| figure(file, record))
    };
    let values = files.iter().map(|f| records.iter().map(|r| cell(*f, *r)).collect()).collect();
    let plateau = |from_file, to_file, mib: f64, name: &str| Plateau {
        from_file,
        to_file,
        bytes_per_second: mib * MIB,
        name: name.into(),
    };
    let plateaus = vec![
        plateau(64 * KIB, 2048 * KIB, 10_480.0, "L2 cache"),
        plateau(4096 * KIB, 65_536 * KIB, 5_123.0, "page cache"),
        plateau(131_072 * KIB, 524_288 * KIB, 655.0, "device"),
    ];
    MatrixGrid {
        title: "read".into(),
        stem: "read".into(),
        files,
        records,
        values,
        plateaus,
        ..MatrixGrid::default()
    }
}

fn grid(title: &str, files: &[u64], records: &[u64], value: impl Fn(usize) -> Option<f64>) -> MatrixGrid {
    let row = |f: usize| (0..records.len()).map(|r| value(f * records.len() + r)).collect();
    MatrixGrid {
        title: title.into(),
        stem: title.replace(' ', "-"),
        files: files.into(),
        records: records.into(),
        values: (0..files.len()).map(row).collect(),
        ..MatrixGrid::default()
    }
}

/// A grid whose cells are hatched, except those of the first file.
fn noisy() -> MatrixGrid {
    let full = full();
    let row = |file: usize| vec![file > 0; full.records.len()];
    MatrixGrid { noisy: (0..full.files.len()).map(row).collect(), ..full }
}

fn samples() -> Vec<MatrixGrid> {
    let sizes = [4096, 8192, 16_384, 65_536];
    let many: Vec<u64> = (1..=90).map(|i| i * 12_345).collect();
    let whole = full();
    let column = |i: usize| Some(figure(whole.files[i], 65_536));
    let mut crowded = grid("many sizes", &many, &many, |i| Some(1.0 + i as f64));
    crowded.plateaus = (0..40)
        .map(|i| Plateau {
            from_file: many[i * 2],
            to_file: many[i * 2 + 1],
            bytes_per_second: 5e9,
            name: format!("a plateau with a long name, number {i} of many"),
        })
        .collect();
    vec![
        full(),
        crowded,
        grid("write", &full().files, &[65_536], column),
        grid("one file", &[1 << 30], &sizes, |i| Some(1e8 * (i + 1) as f64)),
        grid("one cell", &[1 << 20], &[4096], |_| Some(123_456_789.0)),
        grid("equal", &sizes, &sizes, |_| Some(1e9)),
        grid("nothing but zeros", &sizes, &sizes, |_| Some(0.0)),
        grid("some zeros", &sizes, &sizes, |i| (i != 5).then_some((i % 3) as f64 * 1e7)),
        grid("posts", &sizes, &sizes, |i| [0, 2, 7, 9].contains(&i).then_some(1e6 * (i + 1) as f64)),
        grid("no numbers", &sizes, &sizes, |i| [f64::NAN, f64::INFINITY, -1.0].get(i % 3).copied()),
        grid("blank", &sizes, &sizes, |_| None),
        grid("no sizes", &[], &[], |_| None),
        grid(&"a very long title, with streams and options ".repeat(6), &sizes, &sizes, |i| {
            Some(1e9 + i as f64)
        }),
        noisy(),
    ]
}

fn subject() -> Subject {
    Subject {
        what: "/srv/data/iozone.tmp · Linux 6.12, 64 GiB of memory, NVMe".into(),
        how: "iozone -a: read, write · 126 cells, 3 runs each".into(),
        tool: "iosonar 1.0.0".into(),
        command: "iosonar iozone -a".into(),
        ..Subject::default()
    }
}

fn drawn(grids: &[MatrixGrid], theme: Theme) -> Vec<(&'static str, String, Scene)> {
    let subject = subject();
    let material = MatrixMaterial { subject: &subject, grids };
    let style = Style { theme, ..Style::default() };
    let of = |grid: &MatrixGrid| {
        let stem = grid.stem.clone();
        scenes(&material, grid, &style).into_iter().map(move |(name, scene)| (name, stem.clone(), scene))
    };
    grids.iter().flat_map(of).collect::<Vec<_>>()
}

fn cells(scene: &Scene) -> Vec<&Cell> {
    let cells = scene.marks.iter().filter_map(|mark| match mark {
        Mark::Cell(cell) => Some(cell),
        _ => None,
    });
    cells.collect()
}

struct Dir(PathBuf);

impl Folder for Dir {
    fn write(
        &self,
        name: &str,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        fill(&mut std::fs::File::create(&path)?)?;
        Ok(path)
    }
}

#[test]
fn text_never_overlaps_or_leaves_the_picture() {
    let all = samples();
    let mut pictures = drawn(&all, Theme::Dark);
    // A grid drawn alone has its own range of colours and heights.
    for grid in &all {
        pictures.extend(drawn(std::slice::from_ref(grid), Theme::Light));
    }
    for (name, stem, scene) in &pictures {
        let boxes: Vec<(Rect, &str)> = scene.texts().map(|t| (t.bounds(), t.text.as_str())).collect();
        for (i, (a, text)) in boxes.iter().enumerate() {
            assert!(a.x >= 0 && a.right() <= scene.width as i32, "{name} {stem}: {text}");
            assert!(a.y >= 0 && a.bottom() <= scene.height as i32, "{name} {stem}: {text}");
            let other = boxes[i + 1..].iter().find(|(b, _)| a.overlaps(b));
            assert!(other.is_none(), "{name} {stem}: {text} {other:?}");
        }
    }
}

#[test]
fn a_heat_map_has_one_cell_for_each_figure() {
    for (grid, count) in samples().iter().zip([126, 8100, 14, 4, 1, 16, 16, 15, 4, 0, 0, 0, 16, 126]) {
        assert_eq!(grid.measured().count(), count, "{}", grid.title);
        let pictures = drawn(std::slice::from_ref(grid), Theme::Light);
        let (_, _, heat) = &pictures[0];
        let cells = cells(heat);
        assert_eq!(cells.len(), count, "{}", grid.title);
        let keys: BTreeSet<&str> = cells.iter().map(|c| c.key.as_str()).collect();
        assert_eq!(keys.len(), count);
        let is_apart =
            |(i, a): (usize, &&Cell)| cells[i + 1..].iter().take(200).all(|b| !a.area.overlaps(&b.area));
        assert!(cells.iter().enumerate().all(is_apart), "{}", grid.title);
    }
}

#[test]
fn blank_cells_are_background_and_smallest_file_is_lowest() {
    let grid = full();
    let pictures = drawn(std::slice::from_ref(&grid), Theme::Light);
    let cells = cells(&pictures[0].2);
    let of = |key: &str| cells.iter().find(|c| c.key == key).unwrap().area;
    let (lowest, highest) = (of("65536:65536"), of("536870912:16777216"));
    assert!(lowest.y > highest.y && lowest.x < highest.x);
    // A record of 16 MiB in a file of 64 KiB.
    let blank = Rect { x: highest.x, y: lowest.y, ..lowest };
    assert!(cells.iter().all(|c| !c.area.overlaps(&blank)));
    let fills = pictures[0].2.marks.iter().filter_map(|m| match m {
        Mark::Area { area, .. } => Some(area),
        _ => None,
    });
    assert!(fills.into_iter().all(|area| !area.overlaps(&blank)));
}

#[test]
fn all_grids_share_one_colour_scale() {
    let sizes = [4096, 8192];
    let slow = grid("slow", &sizes, &sizes, |i| Some(1e6 * (i + 1) as f64));
    let fast = grid("fast", &sizes, &sizes, |i| Some(4e6 * (i + 1) as f64));
    assert_eq!(matrix_range(&[slow.clone(), fast.clone()]), (1e6, 16e6));
    let pictures = drawn(&[slow, fast], Theme::Light);
    let color = |picture: usize, cell: usize| cells(&pictures[picture].2)[cell].color;
    assert_eq!(color(0, 3), color(3, 0));
    assert_ne!(color(0, 0), color(3, 0));
}

#[test]
fn surface_joins_four_neighbours_and_draws_others_as_posts() {
    let count = |grid: MatrixGrid| {
        let pictures = drawn(&[grid], Theme::Light);
        let (name, _, scene) = &pictures[2];
        assert_eq!(*name, "surface");
        let polygons = scene.marks.iter().filter(|m| matches!(m, Mark::Polygon { .. })).count();
        // The floor and two walls are polygons as well, and each facet has a shadow.
        (polygons - 3) / 2
    };
    let sizes = [4096, 8192, 16_384];
    assert_eq!(count(grid("all", &sizes, &sizes, |_| Some(1e9))), 4);
    assert_eq!(count(grid("hole", &sizes, &sizes, |i| (i != 0).then_some(1e9))), 3);
    assert_eq!(count(grid("lone", &sizes, &sizes, |i| (i == 4).then_some(1e9))), 0);
    for (grid, with) in samples().into_iter().zip([3, 3, 2, 2, 2, 3, 3, 3, 3, 3, 3, 2, 3, 3]) {
        assert_eq!(drawn(std::slice::from_ref(&grid), Theme::Gray).len(), with, "{}", grid.title);
    }
}

#[test]
fn figures_have_at_most_four_digits() {
    let told = [0.0, 0.5, 12.345, 999.4, 999.6, 1234.4, 12_345.0, 1_234_567.0].map(|mib| speed(mib * MIB));
    assert_eq!(told, ["0", "0.500", "12.3", "999", "1 000", "1 234", "12 350", "1 235 000"]);
    assert_eq!([4096, 1_572_864, 1000, 60 * KIB].map(size), ["4 KiB", "1.5 MiB", "1 000 B", "60 KiB"]);
}

#[test]
fn page_heat_map_names_and_links_its_cells() {
    let grid = full();
    let link = |file: usize, record: usize| (file == 3).then(|| format!("cell-{file}-{record}.html"));
    let range = matrix_range(std::slice::from_ref(&grid));
    let svg = heat_svg(&grid, range, Theme::Dark, &link);
    assert_eq!(svg.matches("data-cell=\"").count(), 126);
    assert_eq!((svg.matches("<a href=").count(), svg.matches("</a>").count()), (8, 8));
    assert!(svg.contains("<a href=\"cell-3-0.html\">\n<rect"), "{svg}");
    assert!(svg.contains("data-cell=\"65536:4096\""));
    assert!(svg.contains("file 64 KiB, record 4 KiB: "));
    for grid in samples() {
        heat_svg(&grid, (f64::NAN, 0.0), Theme::Light, &|_, _| None);
    }
}

#[test]
fn noisy_cells_are_hatched_with_a_legend() {
    let legend = "hatched: its repetitions vary more than the cells differ";
    let has_legend = |scene: &Scene| scene.texts().any(|text| text.text == legend);
    for (grid, count) in [(full(), 0), (noisy(), 126 - 5)] {
        let pictures = drawn(std::slice::from_ref(&grid), Theme::Light);
        let heat = &pictures[0].2;
        assert_eq!(cells(heat).iter().filter(|cell| cell.hatch.is_some()).count(), count);
        assert_eq!(has_legend(heat), count > 0);
        assert!(!has_legend(&pictures[1].2), "cuts are not hatched");
        let range = matrix_range(std::slice::from_ref(&grid));
        for theme in [Theme::Light, Theme::Dark] {
            let svg = heat_svg(&grid, range, theme, &|_, _| None);
            assert_eq!(svg.matches("data-hatched=\"true\"").count(), count);
            assert_eq!(svg.matches("; varies more than the cells differ</title>").count(), count);
            assert_eq!(svg.contains(legend), count > 0);
        }
        // The picture still has a palette, and no text is crossed by a line.
        assert_eq!(crate::png(heat)[25], 3, "indexed colours");
    }
    // A cell without a figure has no mark.
    let blank = MatrixGrid { noisy: vec![vec![true]], ..grid("blank", &[4096], &[4096], |_| None) };
    assert!(!blank.has_noise());
}

#[test]
fn hatches_stay_in_their_area() {
    let area = Rect { x: 13, y: 7, w: 40, h: 11 };
    let lines = crate::scene::hatch_lines(area);
    assert!(lines.len() > 5);
    for (x, y) in lines.into_iter().flatten() {
        assert!((13..=53).contains(&x) && (7..=18).contains(&y), "{x} {y}");
    }
}

#[test]
fn writes_every_format_named_after_the_test() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, subject) = (Dir(folder.path().into()), subject());
    let sizes = [4096, 8192];
    let grids = [
        grid("read", &sizes, &sizes, |i| Some(1e9 + i as f64)),
        grid("write", &sizes[..1], &sizes, |i| Some(1e9 + i as f64)),
    ];
    let material = MatrixMaterial { subject: &subject, grids: &grids };
    let options = PlotOptions { formats: vec![Format::Png, Format::Svg], ..PlotOptions::default() };
    let files = plot_matrix(&material, &dir, &options).unwrap();
    let names: Vec<&str> = files.iter().filter_map(|f| f.file_name()?.to_str()).collect();
    assert_eq!(names[..4], ["heat-read.png", "heat-read.svg", "cuts-read.png", "cuts-read.svg"]);
    assert_eq!(names[4..8], ["surface-read.png", "surface-read.svg", "heat-write.png", "heat-write.svg"]);
    assert_eq!(names[8..], ["cuts-write.png", "cuts-write.svg"]);
}
