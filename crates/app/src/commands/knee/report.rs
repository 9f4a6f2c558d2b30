//! The result of a search: text, JSON, a picture.

use super::ramp::Ramp;
use crate::commands::headline;
use crate::exit::{Exit, Failure};
use crate::knee_args::KneeArgs;
use crate::output::{print, print_message};
use crate::outputs::{PictureFolder, existing, gate_of};
use crate::session::{exit, is_fake, tell_verdict};
use anyhow::Context;
use iosonar_analyze::knee::{Doubt, FEWEST_REQUESTS, KneeVerdict, RampRow};
use iosonar_analyze::{DetectorId, Summary};
use iosonar_archive::{Archive, RunState, TOOL};
use iosonar_os::create::new_file;
use iosonar_plan::RisingShape;
use iosonar_text::shown;
use iosonar_view::units::{Charset, duration, grouped, request_rate};
use iosonar_view::{Format, KneeMaterial, PlotOptions, Subject, knee_sentences, plot_knee};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Reports the result, keeps it in `out`, and draws it.
pub fn report(args: &KneeArgs, out: &Path, ramps: &[Ramp]) -> Result<Exit, Failure> {
    let Some(ramp) = answer(ramps) else { return Ok(Exit::Failed) };
    let json = to_json(args, ramp, ramps);
    let path = out.join("knee.json");
    new_file(&path)
        .and_then(|mut file| file.write_all(format!("{json:#}\n").as_bytes()))
        .with_context(|| format!("cannot write {}", shown(&path)))?;
    let pictures = draw(ramp, out)?;
    match args.result.json {
        true => print(&format!("{json:#}\n"))?,
        false => print(&text(args, ramp, ramps, out, &pictures))?,
    }
    Ok(how_it_ended(ramp, ramps))
}

/// The ramp with the answer: the last one that found it, otherwise the last one.
fn answer(ramps: &[Ramp]) -> Option<&Ramp> {
    let found = |ramp: &&Ramp| matches!(ramp.verdict, KneeVerdict::Found(_)) && ramp.is_whole();
    ramps.iter().rfind(found).or(ramps.last())
}

fn how_it_ended(ramp: &Ramp, ramps: &[Ramp]) -> Exit {
    let last = ramps.last().unwrap_or(ramp);
    if last.info.state.signal().is_some() {
        return exit(&last.info, false, false, false);
    }
    if let RunState::Broken(why) = &last.info.state {
        print_message(format_args!("iosonar: the ramp could not go on: {why}"));
        return Exit::Failed;
    }
    let failed: u64 = ramps.iter().map(|ramp| ramp.summary.counts.all.failed).sum();
    if failed > 0 {
        print_message(format_args!(
            "iosonar: {failed} requests failed; 'iosonar show {}' says how",
            shown(&ramp.dir)
        ));
    }
    if let Some(fake) = ramps.iter().find(|ramp| is_of_another_place(&ramp.summary)) {
        tell_verdict("iosonar", &fake.summary);
        return Exit::Fake;
    }
    let is_clear = !matches!(ramp.verdict, KneeVerdict::Unclear { .. });
    if is_clear && failed == 0 { Exit::Fine } else { Exit::Failed }
}

/// Whether a verdict says that the figures are those of another place. A ramp exceeds the target's capacity, and finds limits of this
/// machine on purpose: nothing else in its verdict counts.
fn is_of_another_place(summary: &Summary) -> bool {
    let proofs = summary.judgement.iter().flat_map(|judgement| &judgement.detections);
    is_fake(summary) && proofs.into_iter().any(|one| one.definitional && one.id != DetectorId::OwnLimit)
}

fn draw(ramp: &Ramp, out: &Path) -> Result<Vec<PathBuf>, Failure> {
    let archive = Archive::open(&ramp.dir)?;
    let subject = Subject::of_run(&ramp.summary, &headline(&archive));
    let material = KneeMaterial {
        subject: &subject,
        verdict: &ramp.verdict,
        rows: &ramp.rows,
        is_exponential: ramp.rising.shape == RisingShape::Exponential,
    };
    let options = PlotOptions { formats: vec![Format::Png, Format::Svg], ..PlotOptions::default() };
    let gate = gate_of(&[]);
    let folder = PictureFolder::open(&gate, out, existing(false))?;
    let pictures = plot_knee(&material, &folder, &options)?;
    folder.keep();
    Ok(pictures)
}

fn to_json(args: &KneeArgs, ramp: &Ramp, ramps: &[Ramp]) -> Value {
    let of = |ramp: &Ramp| {
        json!({
            "name": ramp.name,
            "demand": ramp.rising,
            "verdict": ramp.verdict,
            "stopped_by": ramp.stopped_by(),
            "load_was_over": ramp.load_was_over,
            "ramped_overload": ramp.overload,
            "ramped_overload_iops": ramp.overload.iops(),
        })
    };
    json!({
        "version": 1,
        "tool": TOOL,
        "target": args.target,
        "depth": args.demand.depth,
        "verdict": ramp.verdict,
        "sentences": sentences(args, ramp, ramps),
        "stopped_by": ramps.last().and_then(Ramp::stopped_by),
        "stamps": ramp.summary.stamps.iter().map(|stamp| stamp.text()).collect::<Vec<_>>(),
        "answer": ramp.name,
        "ramps": ramps.iter().map(of).collect::<Vec<_>>(),
        "steps": ramp.steps,
    })
}

/// The findings, the reason for a stop, and a command for targets that are too slow.
fn sentences(args: &KneeArgs, ramp: &Ramp, ramps: &[Ramp]) -> Vec<String> {
    let mut sentences = knee_sentences(&ramp.verdict);
    if let Some(last) = ramps.last().filter(|last| last.name != ramp.name) {
        sentences.push(format!(
            "the answer is from {}, in which the rate was looked for: {}, which was to measure it, found none",
            ramp.name, last.name
        ));
    }
    if let Some((last, why)) = ramps.last().and_then(|last| Some((last, last.stopped_by()?))) {
        sentences.push(format!("the search was stopped in {}: {why}", last.name));
    }
    let is_slow =
        matches!(ramp.verdict, KneeVerdict::Unclear { why: Doubt::TooFew, .. }) && ramp.is_far_behind();
    if is_slow {
        let target = shown(&args.target);
        sentences.push(slow(ramp.delivered_per_second(), &format!("iosonar knee -t {target}")));
    }
    sentences
}

/// Suggests a ramp for a target that completes only `per_second` requests.
fn slow(per_second: f64, command: &str) -> String {
    let rate = per_second.max(0.01);
    let (from, to) = ((rate / 2.0).floor().max(1.0), (rate * 3.0).ceil().max(2.0));
    // Two thirds of the ramp exceed the target's capacity, and some of that is lost before it is detected.
    let seconds = (3.0 * FEWEST_REQUESTS as f64 / rate).ceil();
    format!(
        "it ends about {} requests/s, and a rate is measured with {FEWEST_REQUESTS} at least: {command} --from {from} --to {to} \
         --duration {seconds}s",
        request_rate(per_second)
    )
}

fn text(args: &KneeArgs, ramp: &Ramp, ramps: &[Ramp], out: &Path, pictures: &[PathBuf]) -> String {
    let source = ramp.summary.targets.first().map_or("", |target| target.source.as_str());
    let mut text = format!("knee of {}: {source}, depth {}\n", shown(&args.target), args.demand.depth);
    for sentence in sentences(args, ramp, ramps) {
        let _ = writeln!(text, "  {sentence}");
    }
    if ramp.load_was_over {
        let _ = writeln!(
            text,
            "  the load was over before the ramp: repeat it ('iosonar load filter repeat:10'), and a higher rate is possible"
        );
    }
    for stamp in &ramp.summary.stamps {
        let _ = writeln!(text, "  {}", stamp.text());
    }
    let o = &ramp.overload;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let iops = o.iops().map_or("none: no request was more than a second late".to_string(), |iops| {
        format!("OPS={} FROM={:.3} TO={:.3} IOPS={iops:.1}", o.ops, seconds(o.from_ns), seconds(o.to_ns))
    });
    let _ = writeln!(text, "  determine-ramped-overload-iops: {iops}");
    text += &table(ramp);
    let pictures: Vec<String> = pictures.iter().map(|path| shown(path).to_string()).collect();
    let _ = writeln!(text, "\npictures: {}", pictures.join(" "));
    let _ = writeln!(text, "result: {} (the answer is from {})", shown(&out), ramp.name);
    text
}

/// Target rate, achieved rate and times in some intervals of the ramp.
fn table(ramp: &Ramp) -> String {
    let mut text = format!(
        "\n  {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n",
        "demanded/s", "delivered/s", "behind", "delay p50", "delay p99", "response p50"
    );
    let sustained = match &ramp.verdict {
        KneeVerdict::Found(knee) => Some(knee.sustained_per_second),
        _ => None,
    };
    let (mut behind, mut is_marked) = (0.0f64, false);
    for row in &ramp.steps {
        behind = (behind + row.demanded - (row.delivered + row.failed) as f64).max(0.0);
        let is_knee = !is_marked && sustained.is_some_and(|rate| row.demand_per_second() >= rate);
        is_marked |= is_knee;
        text += &line(row, behind, if is_knee { "  < the knee" } else { "" });
    }
    text
}

fn line(row: &RampRow, behind: f64, mark: &str) -> String {
    let time = |ns: Option<u64>| ns.map_or("-".to_string(), |ns| duration(ns, Charset::Ascii));
    format!(
        "  {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}{mark}\n",
        request_rate(row.demand_per_second()),
        request_rate(row.delivered_per_second()),
        grouped(behind as u64),
        time(row.delay.map(|d| d.p50_ns)),
        time(row.delay.map(|d| d.p99_ns)),
        time(row.response.map(|r| r.p50_ns)),
    )
}
