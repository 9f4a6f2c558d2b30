//! Formats the answer of an experiment as text.

use super::cause::rounded;
use super::{CreationAnswer, MIN_METHODS, MethodAnswer};
use crate::Verdict;
use crate::aligned::aligned;
use iosonar_text::one_line;
use std::fmt::Write;

/// Formats the answer: environment, a line for each method, conclusion, and cautions.
pub fn creation_text(answer: &CreationAnswer) -> String {
    let mut text = format!("{}; {}\n", one_line(&answer.place()), answer.procedure());
    if let Some(age) = &answer.setting.age {
        let _ = writeln!(text, "prepared free space: {}", one_line(age));
    }
    answer.free_lines().iter().for_each(|line| _ = writeln!(text, "{}", one_line(line)));
    text += "\n";
    text += &table(answer);
    text += "\n";
    answer.conclusion.iter().for_each(|sentence| _ = writeln!(text, "{}", one_line(sentence)));
    answer.cautions.iter().for_each(|caution| _ = writeln!(text, "caution: {}", one_line(caution)));
    text
}

impl CreationAnswer {
    /// Describes the files and their file system.
    pub fn place(&self) -> String {
        let setting = &self.setting;
        let separate = setting.scratch_bytes.map_or(String::new(), |bytes| {
            format!(", a new file system of {} for each method", rounded(bytes))
        });
        format!(
            "files of {} on {}{separate} ({}{}{})",
            rounded(self.size_bytes),
            setting.file_system,
            setting.source,
            if setting.mount_options.is_empty() { "" } else { ", " },
            setting.mount_options,
        )
    }

    /// Describes the scan procedure.
    pub fn procedure(&self) -> String {
        let access = if self.scan_direct { "direct" } else { "buffered" };
        let record = rounded(self.scan_record_bytes);
        format!("scans by {access} reads of {record}, each after eviction from the page cache")
    }

    /// Summarises the answer for a picture: why the most fragmented files and those of the reference are laid out as
    /// they are, and whether scans differ. All sentences are part of the conclusion.
    pub fn summary(&self) -> Vec<String> {
        let most = self.methods.iter().max_by(|a, b| a.mean_fragments().total_cmp(&b.mean_fragments()));
        let worst = most.filter(|method| method.method != self.reference && method.mean_fragments() > 1.0);
        let reference = self.methods.iter().find(|method| method.method == self.reference);
        let causes = worst.into_iter().chain(reference).filter(|method| !method.cause.is_empty());
        let mut told: Vec<String> = causes.map(MethodAnswer::explained).collect();
        told.extend(differences(self));
        told.extend(requests(self));
        told.extend(correlation(self));
        told
    }

    /// States briefly whether scans of a method differ from those of the reference.
    pub fn verdict(&self, method: &MethodAnswer) -> String {
        let Some(change) = &method.change else {
            return if method.method == self.reference { "reference" } else { "-" }.into();
        };
        let ends = change.low_percent.zip(change.high_percent).filter(|_| change.verdict.is_shown());
        let Some((low, high)) = ends else { return change.verdict.text().into() };
        let (least, most) = (low.abs().min(high.abs()).round(), low.abs().max(high.abs()).round());
        let range = if least == most { format!("{most:.0}") } else { format!("{least:.0} to {most:.0}") };
        format!("{} by {range} %", change.verdict.text())
    }
}

impl MethodAnswer {
    /// Mean number of fragments per file.
    pub fn mean_fragments(&self) -> f64 {
        let all: u64 = self.files.iter().map(|file| file.fragments).sum();
        all as f64 / self.files.len().max(1) as f64
    }

    /// Name and cause.
    fn explained(&self) -> String {
        format!("{}: {}", self.method, self.cause)
    }
}

/// Table with rates in MiB/s.
fn table(answer: &CreationAnswer) -> String {
    let head = [
        ["", "create", "with", "frag-", "median", "", "scans MiB/s", "", "", ""],
        ["method", "MiB/s", "flush", "ments", "record", "groups", "first", "median", "min..max", "change"],
    ];
    let mut lines = head.map(|line| line.map(String::from)).to_vec();
    lines.extend(answer.methods.iter().map(|method| row(method, &answer.reference)));
    aligned(&lines, &[0]).iter().map(|line| format!("{}\n", one_line(line))).collect()
}

fn row(method: &MethodAnswer, reference: &str) -> [String; 10] {
    let none = || "-".to_string();
    let mib = |rate: f64| format!("{:.0}", rate / f64::from(1 << 20));
    let rate = |rate: Option<f64>| rate.map_or_else(none, mib);
    let files = &method.files;
    let over = |value: &dyn Fn(&super::FileAnswer) -> Option<u64>| -> String {
        let values: Vec<u64> = files.iter().filter_map(value).collect();
        match (values.iter().min(), values.iter().max()) {
            (Some(least), Some(most)) if least == most => least.to_string(),
            (Some(least), Some(most)) => format!("{least}..{most}"),
            _ => none(),
        }
    };
    let median = files.iter().filter_map(|file| file.median_record_bytes).min();
    let later = method.later_scans;
    let change = match &method.change {
        Some(change) => match (change.low_percent, change.high_percent) {
            (Some(low), Some(high)) => format!("{:+.0} % [{low:+.0}, {high:+.0}]", change.change_percent),
            _ => format!("{:+.0} %", change.change_percent),
        },
        None if method.method == reference => "reference".into(),
        None => none(),
    };
    [
        method.method.clone(),
        rate(method.create_bytes_per_second),
        rate(method.create_and_sync_bytes_per_second),
        over(&|file| Some(file.fragments)),
        median.map_or_else(none, rounded),
        over(&|file| file.groups_used),
        rate(method.scan.first().map(|scan| scan.bytes_per_second)),
        rate(later.map(|later| later.median)),
        later.map_or_else(none, |later| format!("{}..{}", mib(later.min), mib(later.max))),
        change,
    ]
}

/// Changes of more percent are not of interest.
const MOST_VISIBLE: f64 = 100.0;

/// Conclusion in sentences: why layouts differ, and whether scans do.
pub(crate) fn conclusion(answer: &CreationAnswer) -> Vec<String> {
    let causes = answer.methods.iter().filter(|method| !method.cause.is_empty());
    let mut told: Vec<String> = causes.map(MethodAnswer::explained).collect();
    told.extend(differences(answer));
    told.extend(requests(answer));
    told.extend(correlation(answer));
    told
}

fn differences(answer: &CreationAnswer) -> Vec<String> {
    let reference = &answer.reference;
    let changes = || answer.methods.iter().filter_map(|method| Some((method, method.change.as_ref()?)));
    let mut told: Vec<String> = changes()
        .filter(|(_, change)| change.verdict.is_shown())
        .filter_map(|(method, change)| {
            let (low, high) = (change.low_percent?, change.high_percent?);
            Some(format!(
                "Scans of {} are {} than those of {reference} by {:.1} % (interval {} to {} %).",
                method.method,
                change.verdict.text(),
                change.change_percent.abs(),
                format_args!("{low:+.1}"),
                format_args!("{high:+.1}"),
            ))
        })
        .collect();
    let same: Vec<&str> = changes()
        .filter(|(_, change)| change.verdict == Verdict::NoDifferenceShown)
        .map(|(method, _)| method.method.as_str())
        .collect();
    let widths = changes().filter_map(|(_, change)| Some((change.high_percent? - change.low_percent?) / 2.0));
    if let (false, Some(widest)) = (same.is_empty(), widths.reduce(f64::max)) {
        let visible = match widest <= MOST_VISIBLE {
            true => format!(
                "A change of about {widest:.0} % would have been seen; more rounds show smaller ones."
            ),
            false => "These scans are too few or too unequal to show any change: measure more rounds.".into(),
        };
        told.push(format!(
            "No difference of scans from those of {reference} is shown for {}: noise alone may have made the changes. {visible}",
            same.join(", ")
        ));
    }
    if changes().any(|(_, change)| change.verdict == Verdict::CannotBeTold) {
        told.push("Whether scans differ cannot be told: it takes 3 rounds or more, because the first one is not compared.".into());
    }
    told
}

/// Describes the size of the requests that devices read.
fn requests(answer: &CreationAnswer) -> Option<String> {
    let size = |bytes: f64| rounded(bytes.round() as u64);
    if let Some(mean) = answer.device_read_bytes_mean {
        let mean = size(mean);
        return Some(format!(
            "The device read {mean} in a request on average, over the scans of all methods together and whatever else used it."
        ));
    }
    let each = |method: &MethodAnswer| {
        Some(format!("{} for {}", size(method.device_read_bytes_mean?), method.method))
    };
    let all: Vec<String> = answer.methods.iter().filter_map(each).collect();
    (!all.is_empty())
        .then(|| format!("Mean size of the requests that devices read during all scans: {}.", all.join(", ")))
}

fn correlation(answer: &CreationAnswer) -> Option<String> {
    let found = answer.fragments_and_rate;
    match found.rho {
        Some(rho) => Some(format!(
            "Rank correlation of fragments per MiB with the rate of scans, over {} methods: {rho:+.2}.",
            found.n
        )),
        None if found.n > 1 && found.n < MIN_METHODS => Some(format!(
            "A rank correlation of fragments and rates takes {MIN_METHODS} methods; there are {}.",
            found.n
        )),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Experiment, FileAnswer, FreeBefore, FreeStates, ScanReads, Setting, Trial};
    use super::*;
    use crate::Change;
    use iosonar_analyze::DeviceReads;
    use iosonar_layout::FreeSpace;
    use iosonar_plan::{ByteSize, Nanos, RunId};

    fn answer(device_reads: ScanReads) -> CreationAnswer {
        let experiment = Experiment {
            methods: ["direct+4k", "buffered+64k", "truncate+direct+4k+random"]
                .map(|m| m.parse().unwrap())
                .into(),
            size: ByteSize(1 << 20),
            scan_record: ByteSize(65_536),
            scan_direct: false,
            rounds: 3,
            seed: 1,
            sample_every: Nanos::SECOND,
            run_id: RunId::default(),
        };
        let file = |fragments| vec![FileAnswer { fragments, size_bytes: 1 << 20, ..FileAnswer::default() }];
        let files = [2, 1, 256].map(file).into();
        let setting = Setting { file_system: "xfs".into(), source: "/dev/x".into(), ..Setting::default() };
        let (creation, scans, page_bytes) = (&[][..], &[][..], 4096);
        let (experiment, free) = (&experiment, FreeStates::default());
        Trial { experiment, setting, creation, scans, files, device_reads, free, page_bytes }.answer()
    }

    fn change(low: f64, high: f64, verdict: Verdict) -> Option<Change> {
        let rates = (1e9, 1e9);
        Some(Change {
            n_a: 3,
            n_b: 3,
            a_bytes_per_second: rates.0,
            b_bytes_per_second: rates.1,
            change_percent: (low + high) / 2.0,
            low_percent: Some(low),
            high_percent: Some(high),
            verdict,
        })
    }

    #[test]
    fn verdicts_are_short() {
        let mut answer = answer(ScanReads::default());
        let told = |answer: &CreationAnswer| answer.verdict(&answer.methods[0]);
        assert_eq!((told(&answer).as_str(), answer.verdict(&answer.methods[1]).as_str()), ("-", "reference"));
        for (low, high, verdict, words) in [
            (-18.2, -11.9, Verdict::Slower, "slower by 12 to 18 %"),
            (4.1, 30.0, Verdict::Faster, "faster by 4 to 30 %"),
            (-12.1, -11.9, Verdict::Slower, "slower by 12 %"),
            (-5.0, 7.0, Verdict::NoDifferenceShown, "no difference shown"),
        ] {
            answer.methods[0].change = change(low, high, verdict);
            assert_eq!(told(&answer), words);
        }
    }

    #[test]
    fn summary_states_causes_of_worst_and_reference() {
        let all = answer(ScanReads::default());
        let summary = all.summary();
        assert!(summary[0].starts_with("truncate+direct+4k+random: Each direct write"), "{summary:?}");
        assert!(summary[1].starts_with("buffered+64k: Delayed allocation"), "{summary:?}");
        assert!(summary.iter().all(|sentence| all.conclusion.contains(sentence)), "{summary:?}");
        assert!(all.place().starts_with("files of 1 MiB on xfs (/dev/x)"), "{}", all.place());
    }

    #[test]
    fn each_state_of_free_space_has_a_line() {
        let mut answer = answer(ScanReads::default());
        let lines = |answer: &CreationAnswer| {
            let text = creation_text(answer);
            text.lines().filter(|line| line.starts_with("free space")).map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(lines(&answer), [""; 0]);
        let state = |length| {
            let mut free = FreeSpace::new(None);
            free.add(0, length);
            FreeBefore::of(Ok(free))
        };
        answer.methods.iter_mut().for_each(|method| method.free = Some(state(4096)));
        assert_eq!(lines(&answer), ["free space before: 1 range, largest 4 KiB"]);
        answer.methods[1].free = Some(state(8192));
        let (first, second) =
            ("direct+4k, truncate+direct+4k+random: 1 range, largest 4 KiB", "buffered+64k: 1");
        assert!(lines(&answer)[0].ends_with(first) && lines(&answer)[1].contains(second), "{answer:?}");
        answer.methods.iter_mut().for_each(|method| method.free = None);
        answer.free = Some(FreeBefore::of(Err("btrfs does not".into())));
        assert_eq!(lines(&answer), ["free space before: unknown: btrfs does not"]);
    }

    #[test]
    fn device_reads_are_per_method_or_shared() {
        let reads = |bytes| Some(DeviceReads { requests: 10.0, bytes });
        let own = ScanReads { of_methods: vec![reads(40_960.0), reads(5_242_880.0), None], shared: None };
        let of_each = answer(own).summary().join(" ");
        assert!(
            of_each.contains("during all scans: 4 KiB for direct+4k, 512 KiB for buffered+64k."),
            "{of_each}"
        );
        let shared = answer(ScanReads { of_methods: Vec::new(), shared: reads(40_960.0) });
        assert!(shared.summary().join(" ").contains("The device read 4 KiB in a request"), "{shared:?}");
        assert_eq!(shared.methods[0].device_read_bytes_mean, None);
    }
}
