//! The story of an experiment on ways to create files: whether their scans differ, with how many fragments, and why the files are laid out so.
//!
//! It reads only what the answer holds, so that each sentence has its evidence in the JSON of `iosonar layout run`.

mod reasons;
#[cfg(test)]
mod tests;

use crate::command::Command;
use crate::statement::statement;
use crate::words::{capitalized, fitting, number_word, rounded_rate, short_bytes};
use iosonar_analyze::{LEAST_REQUESTS, Statement};
use iosonar_cells::creation::{CreationAnswer, Files, FillOrder, Method, MethodAnswer, WriteSize};
use iosonar_cells::{Change, Verdict};
use iosonar_text::units::{byte_rate, grouped};
use reasons::Reasons;

/// Rounds that show small differences; a remedy asks for no more.
const MANY_ROUNDS: u32 = 1000;

/// The story of an experiment. Its evidence are paths in the JSON of the answer.
pub fn creation_story(answer: &CreationAnswer) -> Statement {
    let reasons = Reasons { answer };
    let told = fake(&reasons).or_else(|| few(&reasons)).unwrap_or_else(|| compared(&reasons));
    Statement { worth: told.worth.or_else(|| Some(worth(answer))), ..told }
}

/// Scans that are not what they claim to be.
fn fake(reasons: &Reasons<'_>) -> Option<Statement> {
    let sentence = reasons.answer.fake.as_ref()?;
    let because = reasons.fake();
    Some(Statement {
        remedy: Some("measure on a file system whose device does the I/O".into()),
        ..statement(format!("{}.", capitalized(sentence.clone())), [because])
    })
}

/// Too few requests for any statement about rates.
fn few(reasons: &Reasons<'_>) -> Option<Statement> {
    let (number, requests) = reasons.fewest_requests()?;
    if requests >= LEAST_REQUESTS || reasons.answer.scan_orders.len() < 2 {
        return None;
    }
    let text = format!(
        "{} reads in the compared scans: too few to tell whether scans differ.",
        capitalized(grouped(requests))
    );
    Some(Statement {
        remedy: Some("use a larger --size, a smaller --scan-size, or more --rounds".into()),
        ..statement(text, [reasons.scans(number)])
    })
}

/// The largest difference that is shown.
fn compared(reasons: &Reasons<'_>) -> Statement {
    let answer = reasons.answer;
    let with_verdict = |wanted: Verdict| {
        let found = answer.methods.iter().enumerate().filter_map(move |(number, method)| {
            let change = method.change.as_ref().filter(|change| change.verdict == wanted)?;
            Some((number, method, change))
        });
        found.max_by(|a, b| size(a.2).total_cmp(&size(b.2)))
    };
    let shown = with_verdict(Verdict::Slower).or_else(|| with_verdict(Verdict::Faster));
    let reference = answer.methods.iter().find(|method| method.method == answer.reference);
    match (shown, reference) {
        (Some((number, method, change)), Some(reference)) => {
            differs(reasons, number, method, change, reference)
        }
        _ if answer.methods.iter().any(|method| has(method, Verdict::NoDifferenceShown)) => same(reasons),
        _ if answer.methods.len() > 1 => unknown(reasons),
        _ => single(reasons),
    }
}

fn has(method: &MethodAnswer, verdict: Verdict) -> bool {
    method.change.as_ref().is_some_and(|change| change.verdict == verdict)
}

/// How far the rates are apart, as a logarithm.
fn size(change: &Change) -> f64 {
    (change.a_bytes_per_second / change.b_bytes_per_second).ln().abs()
}

/// Scans of a method differ from those of the reference.
fn differs(
    reasons: &Reasons<'_>,
    number: usize,
    method: &MethodAnswer,
    change: &Change,
    reference: &MethodAnswer,
) -> Statement {
    let subject = Subject::of(&method.method);
    let by = by(change);
    let (own, other) = (most_fragments(method), most_fragments(reference));
    let (fragments, short) = match own == other {
        true => (String::new(), String::new()),
        false => (format!(": {} instead of {}", counted(own), grouped(other)), format!(": {}", counted(own))),
    };
    let verb = subject.verb;
    let text = fitting([
        format!("{} {verb} read {by}{fragments}.", subject.text),
        format!("{} {verb} read {by}{short}.", subject.text),
        format!("{} {verb} read {by}{short}.", subject.short),
        format!("{} {verb} read {by}.", subject.short),
        format!("{} {verb} read {}.", method.method, change.verdict.text()),
    ]);
    let is_slower = change.verdict == Verdict::Slower;
    let remedy = is_slower.then(|| {
        let fragments = counted(other);
        format!("create such files as {} does: {fragments} here", reference.method)
    });
    let because = [reasons.cause(number), reasons.device_reads(number), reasons.without_cost()];
    Statement { remedy, ..statement(text, because.into_iter().flatten()) }
}

/// `9.1 times slower (3.2 to 25)`, `12 % slower (8 to 16 %)`.
fn by(change: &Change) -> String {
    let word = change.verdict.text();
    let is_slower = change.verdict == Verdict::Slower;
    let factor = |percent: f64| {
        let ratio = (1.0 + percent / 100.0).max(1e-6);
        if is_slower { 1.0 / ratio } else { ratio }
    };
    let ends = change.low_percent.zip(change.high_percent);
    let (middle, ends) = (factor(change.change_percent), ends.map(|(low, high)| (factor(low), factor(high))));
    let (least, most) = ends.map_or((middle, middle), |(a, b)| (a.min(b), a.max(b)));
    match middle >= 2.0 {
        true => format!("{} times {word} ({} to {})", times(middle), times(least), times(most)),
        false => {
            let percent = change.change_percent.abs();
            let (low, high) = change.low_percent.zip(change.high_percent).unwrap_or_default();
            let (least, most) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
            format!("{} % {word} ({} to {} %)", digits(percent), digits(least), digits(most))
        }
    }
}

fn times(factor: f64) -> String {
    match factor {
        small if small < 9.95 => format!("{small:.1}"),
        large if large < 999.5 => format!("{large:.0}"),
        huge => rounded_rate(huge),
    }
}

fn digits(percent: f64) -> String {
    if percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

/// No difference is shown for any method.
fn same(reasons: &Reasons<'_>) -> Statement {
    let answer = reasons.answer;
    let most = answer.methods.iter().map(most_fragments).max().unwrap_or(0);
    let rounds = answer.scan_orders.len();
    let text = match most {
        0 | 1 => "No difference between the scans is shown; no file has more than one fragment.".into(),
        _ => format!("No difference between the scans is shown, with up to {} in a file.", counted(most)),
    };
    let more = (rounds as u32).saturating_mul(4).min(MANY_ROUNDS);
    let because = [reasons.visible(), reasons.most_fragmented()];
    Statement { remedy: with_rounds(answer, more), ..statement(text, because.into_iter().flatten()) }
}

/// Too few rounds to compare.
fn unknown(reasons: &Reasons<'_>) -> Statement {
    let answer = reasons.answer;
    let most = answer.methods.iter().map(most_fragments).max().unwrap_or(0);
    let text = format!("Whether scans differ cannot be told; files have up to {}.", counted(most));
    let because = [Some(reasons.rounds()), reasons.most_fragmented()];
    Statement { remedy: with_rounds(answer, 5), ..statement(text, because.into_iter().flatten()) }
}

/// One method alone.
fn single(reasons: &Reasons<'_>) -> Statement {
    let Some(method) = reasons.answer.methods.first() else {
        return statement("Nothing was created.".into(), []);
    };
    let fragments = counted(most_fragments(method));
    let text = match method.later_scans {
        Some(scans) if scans.n > 1 => format!(
            "{}: {fragments}, scanned at {} ({} to {}).",
            method.method,
            byte_rate(scans.median),
            byte_rate(scans.min),
            byte_rate(scans.max)
        ),
        _ => format!("{}: {fragments}.", method.method),
    };
    statement(text, reasons.cause(0))
}

fn most_fragments(method: &MethodAnswer) -> u64 {
    method.files.iter().map(|file| file.fragments).max().unwrap_or(0)
}

fn counted(fragments: u64) -> String {
    if fragments == 1 { "1 fragment".into() } else { format!("{} fragments", grouped(fragments)) }
}

/// The command as typed with more rounds; files that were kept would be in the way.
fn with_rounds(answer: &CreationAnswer, rounds: u32) -> Option<String> {
    let command =
        Command::of(&answer.setting.command, "layout run").filter(|command| !command.has("--keep"))?;
    Some(command.set(&["--rounds"], &rounds.to_string()).text(&format!("rounds{rounds}")))
}

/// How far the comparison reaches.
fn worth(answer: &CreationAnswer) -> String {
    let is_warm = answer
        .methods
        .iter()
        .flat_map(|method| &method.scan)
        .any(|scan| scan.cached_pages_before_scan != Some(0));
    let rounds = answer.scan_orders.len();
    let rounds = if rounds == 1 { "1 round".into() } else { format!("{rounds} rounds") };
    match (is_warm, answer.setting.image_direct) {
        (true, _) => format!("{rounds} of scans, not all of them known to be cold"),
        (_, Some(_)) => format!(
            "{rounds} of scans without the page cache, the first not compared; on loop devices, whose images lie on another file system"
        ),
        _ => format!("{rounds} of scans without the page cache, the first not compared"),
    }
}

/// A method as the subject of a sentence.
struct Subject {
    text: String,
    /// The same without the number of files.
    short: String,
    verb: &'static str,
}

impl Subject {
    fn of(words: &str) -> Subject {
        let is = |text: String| Subject { short: text.clone(), text, verb: "is" };
        let method = words.parse::<Method>().ok();
        let write = method.as_ref().and_then(|method| match method.write {
            WriteSize::Bytes(size) => Some(short_bytes(size.0)),
            WriteSize::Whole => None,
        });
        let Some((method, write)) = method.zip(write) else { return is(words.into()) };
        match (method.files, method.order) {
            (Files::InTurn(count), FillOrder::Sequential) if count > 1 => Subject {
                text: format!("{} files written in turns of {write}", number_word(count as usize)),
                short: format!("Files written in turns of {write}"),
                verb: "are",
            },
            (Files::One, FillOrder::Random) => is(format!("A file written in random order by {write}")),
            (Files::One, FillOrder::Reverse) => is(format!("A file written backward by {write}")),
            _ => is(words.into()),
        }
    }
}
