//! The HTML page as a whole.

mod common;

use common::{Run, empty, extreme, replay};
use iosonar_view::Headline;
use iosonar_view::report::{Report, decode_block, page};

fn html(run: &Run) -> String {
    let (summary, diagrams) = (run.summary(), run.diagrams());
    let report = Report {
        summary: &summary,
        diagrams: &diagrams,
        plan_toml: &run.plan.to_toml(),
        environment_json: Some("{\"kernel\": \"</pre><script>alert(2)</script>\"}"),
        headline: &Headline::default(),
    };
    page(&report)
}

fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    element.split_once(&format!("{name}=\"")).unwrap().1.split('"').next().unwrap()
}

#[test]
fn foreign_text_stays_text_and_nothing_is_fetched() {
    let page = html(&extreme());
    for hostile in ["<script>alert", "</pre><script", "\u{1}"] {
        assert!(!page.contains(hostile), "{hostile:?}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    for address in ["http://", "https://", "src=\"/", "url("] {
        assert!(!page.contains(address), "{address}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.trim_end().ends_with("<div id=\"iosonar-end\" hidden></div>\n</body>\n</html>"));
}

#[test]
fn the_blocks_hold_every_completed_request_of_each_class() {
    let run = replay(50_000, 200.0, true);
    let (page, summary) = (html(&run), run.summary());
    let mut sums = std::collections::BTreeMap::new();
    for line in page.lines().filter(|l| l.starts_with("<script type=\"application/x-iosonar-grid\"")) {
        assert!(line.len() <= 1 << 20);
        let text = line.split_once('>').unwrap().1.strip_suffix("</script>").unwrap();
        let crc = u32::from_str_radix(attribute(line, "data-crc32"), 16).unwrap();
        let values = decode_block(text, crc, 1 << 26).unwrap();
        let sum = values.iter().sum::<u64>();
        assert_eq!(sum.to_string(), attribute(line, "data-n"));
        *sums.entry(attribute(line, "data-k").to_string()).or_insert(0) += sum;
    }
    for grid in ["latency", "delay"] {
        let class = |class: &str| sums.get(&format!("grid/{grid}/{class}")).copied().unwrap_or(0);
        assert_eq!(class("read") + class("read-pushed"), summary.counts.read.completed);
        assert_eq!(class("write-pushed"), summary.latency.write_pushed.unwrap().count);
        assert_eq!(class("write") + class("write-pushed"), summary.counts.write.completed);
    }
    assert_eq!(sums["series/demanded/requests"], summary.counts.all.total);
    let meta = page.split_once("id=\"iosonar-meta\">").unwrap().1.split_once("</script>").unwrap().0;
    let meta: serde_json::Value = serde_json::from_str(meta).unwrap();
    assert_eq!(meta["summary"]["counts"]["all"]["completed"], summary.counts.all.completed);
}

#[test]
fn cautions_come_before_verdicts_and_pictures() {
    let mut run = replay(2_000, 20.0, false);
    run.plan.access.buffered = true;
    let page = html(&run);
    let places = [
        "class=\"stamp\"",
        "class=\"cautions\"",
        "class=\"verdicts\"",
        "class=\"tiles\"",
        "id=\"sonar\"",
        "<table>",
        "id=\"plan\"",
        "How to read",
        "iosonar-meta",
        "iosonar-end",
    ]
    .map(|word| page.find(word).unwrap_or_else(|| panic!("{word}")));
    assert!(places.is_sorted(), "{places:?}");
    assert!(page == html(&run), "the same bytes each time");
}

#[test]
fn an_empty_run_has_a_page() {
    assert!(html(&empty(&["/dev/sdx"])).contains("No request completed"));
}

/// `PICTURES=/some/dir` leaves pages there, to look at.
#[test]
fn pages_to_look_at() {
    let Some(to) = std::env::var_os("PICTURES") else { return };
    std::fs::create_dir_all(&to).unwrap();
    for (name, run) in [
        ("large", replay(1_000_000, 1_340.0, true)),
        ("extreme", extreme()),
        ("small", replay(10_000, 60.0, false)),
    ] {
        std::fs::write(std::path::Path::new(&to).join(format!("{name}.html")), html(&run)).unwrap();
    }
}
