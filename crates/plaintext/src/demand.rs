//! A load's demand as plain ASCII text for a terminal, at most 79 columns wide.

use crate::lines::Lines;
use iosonar_analyze::Findings;
use iosonar_analyze::demand::{
    ByOp, DemandFacts, FrequencyFacts, MissRatioFacts, SamplingFacts, SizeFacts, WindowFacts,
};
use iosonar_text::units::{self, Charset};

const COLUMNS: usize = 79;
const SECTOR: u64 = 512;

/// All findings of a run, as sentences; empty without findings.
pub fn findings(findings: &Findings) -> String {
    let mut out = Lines::new(COLUMNS);
    let sentences = findings.sentences();
    if !sentences.is_empty() {
        out.heading("Findings");
        sentences.iter().for_each(|sentence| out.paragraph("  ", sentence));
    }
    out.finish()
}

/// The figures of a load. `names` are the names of its inputs.
pub fn demand(names: &[String], facts: &DemandFacts) -> String {
    let mut out = Lines::new(COLUMNS);
    out.paragraph("Load    ", &names.join(", "));
    table(&mut out, facts);
    if facts.counts.all.requests > 0 {
        places(&mut out, facts);
        rates(&mut out, facts);
        working_sets(&mut out, facts);
        frequencies(&mut out, &facts.frequency);
        miss_ratios(&mut out, facts);
        sampling(&mut out, &facts.sampling);
    }
    out.finish()
}

fn time(ns: u64) -> String {
    units::duration(ns, Charset::Ascii)
}

fn pages(pages: f64) -> String {
    units::bytes((pages * 4096.0) as u64)
}

fn row<T>(out: &mut Lines, name: &str, values: &ByOp<T>, form: impl Fn(&T) -> String) {
    let (all, read, write) = (form(&values.all), form(&values.read), form(&values.write));
    out.line(&format!("  {name:22}{all:>18}{read:>18}{write:>18}"));
}

fn table(out: &mut Lines, facts: &DemandFacts) {
    out.heading(&format!("{:24}{:>18}{:>18}{:>18}", "Wanted", "all", "read", "write"));
    row(out, "requests", &facts.counts, |c| units::grouped(c.requests));
    row(out, "bytes", &facts.counts, |c| units::bytes(c.bytes));
    let size = |f: fn(&SizeFacts) -> u64| {
        move |s: &Option<SizeFacts>| s.as_ref().map_or("-".to_string(), |s| units::bytes(f(s) * SECTOR))
    };
    row(out, "shortest", &facts.sizes, size(|s| s.min_sectors));
    let mean = |s: &Option<SizeFacts>| {
        s.as_ref().map_or("-".to_string(), |s| units::bytes((s.mean_sectors * SECTOR as f64).round() as u64))
    };
    row(out, "mean length", &facts.sizes, mean);
    row(out, "longest", &facts.sizes, size(|s| s.max_sectors));
    row(out, "lengths", &facts.sizes, |s| s.map_or("-".to_string(), |s| units::grouped(s.distinct)));
    row(out, "turns", &facts.turns.total, |t| match t.requests {
        0 => "-".to_string(),
        _ => format!("{:.2} %", t.percent),
    });
    row(out, "distinct pages", &facts.frequency, |f| units::grouped(f.distinct_pages));
    row(out, "page accesses", &facts.frequency, |f| units::grouped(f.accesses));
}

fn places(out: &mut Lines, facts: &DemandFacts) {
    if let Some(p) = facts.positions {
        let (low, high) =
            (p.lowest_sector.saturating_mul(SECTOR), p.highest_end_sector.saturating_mul(SECTOR));
        let aligned = facts.counts.all.requests - p.not_page_aligned;
        out.heading("Places");
        out.line(&format!("  from {} to {}", units::bytes(low), units::bytes(high)));
        out.line(&format!(
            "  aligned to 4 KiB at both ends: {}",
            units::share(aligned, facts.counts.all.requests)
        ));
    }
    for wrap in &facts.wraparound {
        let text = format!(
            "on a device of {}: wraparound factor {}, {} requests remapped, {} at its end",
            units::bytes(wrap.device_bytes),
            units::number(wrap.factor),
            units::grouped(wrap.remapped),
            units::grouped(wrap.crossing)
        );
        out.paragraph("  ", &text);
    }
}

fn rates(out: &mut Lines, facts: &DemandFacts) {
    let Some(span) = facts.span else { return };
    let t = &facts.throughput;
    out.heading(&format!("Wanted rates, in windows of {}", time(t.window_ns)));
    out.line(&format!("  from {} to {}", time(span.first_ns), time(span.last_ns)));
    row(out, "requests/s, mean", &t.iops, |r| units::request_rate(r.mean));
    row(out, "requests/s, most", &t.iops, |r| units::request_rate(r.max));
    row(out, "bytes/s, mean", &t.sectors_per_s, |r| units::byte_rate(r.mean * SECTOR as f64));
    row(out, "bytes/s, most", &t.sectors_per_s, |r| units::byte_rate(r.max * SECTOR as f64));
}

fn working_sets(out: &mut Lines, facts: &DemandFacts) {
    out.heading("Working sets: data touched in a sliding window, and span of a window");
    out.line(&format!("  {:10}{:>16}{:>16}{:>16}{:>16}", "window", "mean", "most", "mean span", "mean gap"));
    for w in &facts.working_sets {
        let name = w.window_s.map_or("infinite".to_string(), |s| time(s.saturating_mul(1_000_000_000)));
        let sectors = |n: f64| units::bytes((n * SECTOR as f64) as u64);
        let span = w.sum_dist.map_or("-".to_string(), |d| sectors(d.mean));
        let gap = w.mean_gap.map_or("-".to_string(), |d| sectors(d.mean));
        let (mean, most) = set(w);
        out.line(&format!("  {name:10}{mean:>16}{most:>16}{span:>16}{gap:>16}"));
    }
    let new = facts.growth.last_tenth_bytes_per_s;
    out.line(&format!("  new data in the last tenth of the time: {}", units::byte_rate(new)));
}

/// Mean and greatest size. The infinite window only grows: its mean is meaningless.
fn set(w: &WindowFacts) -> (String, String) {
    let mean = w.window_s.map_or("-".to_string(), |_| pages(w.sliding.pages.mean));
    (mean, pages(w.sliding.pages.max as f64))
}

fn frequencies(out: &mut Lines, frequency: &ByOp<FrequencyFacts>) {
    let f = &frequency.all;
    out.heading("Most used pages of 4 KiB");
    let markers = f.markers.iter().filter(|m| [64, 16, 4, 2].contains(&m.one_of));
    for marker in markers {
        let (p, of) = (marker.fewest, marker.one_of);
        let pages = if p.rank == 1 { "page" } else { "pages" };
        out.line(&format!(
            "  1/{of} of the accesses: {} {pages} ({:.2} % of them)",
            units::grouped(p.rank),
            p.pages_percent
        ));
    }
    if let Some(page) = f.hottest.first() {
        let place = units::bytes(page.page.saturating_mul(4096));
        out.line(&format!("  the hottest, at {place}: {} accesses", units::grouped(page.accesses)));
    }
    if let Some(exponent) = f.zipf_exponent {
        out.line(&format!("  accesses fall like rank^-{exponent:.2} (Zipf)"));
    }
}

fn miss_ratios(out: &mut Lines, facts: &DemandFacts) {
    let miss: &MissRatioFacts = &facts.miss_ratio;
    let any = facts.frequency.map(|f| f.accesses > 0);
    out.heading(&format!("{:24}{:>18}{:>18}{:>18}", "LRU cache misses", "all", "read", "write"));
    // Without accesses there are no misses.
    let percent = |(any, ratio): &(bool, f64)| match any {
        true => format!("{:.1} %", ratio * 100.0),
        false => "-".to_string(),
    };
    let with =
        |m: &ByOp<f64>| ByOp { all: (any.all, m.all), read: (any.read, m.read), write: (any.write, m.write) };
    // Every fourth power of two: the picture and JSON have all of them.
    for at in miss.at.iter().rev().step_by(4).collect::<Vec<_>>().into_iter().rev() {
        row(out, &format!("cache of {}", units::bytes(at.cache_bytes)), &with(&at.miss), percent);
    }
    row(out, "first use", &with(&miss.first_use), percent);
    row(out, "knee at", &miss.knee, |k| k.map_or("-".to_string(), |k| units::bytes(k.cache_bytes)));
}

fn sampling(out: &mut Lines, s: &SamplingFacts) {
    let pages = units::grouped(s.sampled_pages);
    let mut text = match (s.exact, s.one_of) {
        (true, _) => format!("Exact: all {pages} pages were looked at."),
        (false, 0 | 1) => format!("{pages} pages were looked at."),
        (false, of) => format!(
            "Sampled: one page of {of} was looked at, {pages} pages. Standard error of the sizes {:.2} %, of miss ratios {:.3}.",
            s.relative_error.pages * 100.0,
            s.miss_ratio_error
        ),
    };
    if s.cut_requests > 0 {
        let cut = units::grouped(s.cut_requests);
        text += &format!(
            " Of {cut} requests longer than 1 GiB only the first GiB was: sets and frequencies are too small."
        );
    }
    out.heading("");
    out.paragraph("", &text);
}
