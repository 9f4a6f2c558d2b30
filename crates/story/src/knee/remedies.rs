//! Remedies after a search: the command as typed with options that show more.

use super::{KneeFacts, reasons};
use crate::command::Command;
use iosonar_analyze::knee::{Doubt, Knee};
use iosonar_plan::{Nanos, Rising};

/// The highest rate that `--to` and `--most` take.
const MOST_RATE: u64 = 1_000_000_000;
/// The highest growth that `--growth` takes.
const MOST_GROWTH: u64 = 1_000_000;
/// The greatest depth that is proposed.
const DEEPEST: u32 = 1024;
/// An interval wider than this share of the rate is worth a longer ramp.
const WIDE: f64 = 0.1;

fn command(facts: &KneeFacts<'_>) -> Option<Command> {
    Command::of(facts.command, "knee")
}

/// Whether the rates of the only ramp were typed.
fn is_single(command: &Command) -> bool {
    command.has("--to") || command.has("--growth")
}

/// After a limit was found.
pub(super) fn of_knee(facts: &KneeFacts<'_>, knee: &Knee) -> Option<String> {
    if facts.outside.is_some() {
        return Some("repeat it while the machine and the device do nothing else".into());
    }
    if facts.failed > 0 {
        return Some("look for the failed requests with 'iosonar show' of a ramp".into());
    }
    let command = command(facts)?;
    if knee.from_the_start {
        let (from, to) = (knee.low_per_second / 2.0, knee.high_per_second * 1.5);
        return (!command.has("--growth"))
            .then(|| of_rates(command, from.max(1.0) as u64, to.ceil() as u64, "lower"));
    }
    if reasons::is_limit(facts, knee) && facts.depth < DEEPEST {
        let depth = facts.depth.saturating_mul(4);
        // Rates that were typed may be too low for more requests in flight.
        return (!is_single(&command))
            .then(|| command.set(&["--depth"], &depth.to_string()).text(&format!("depth{depth}")));
    }
    let is_wide = knee.high_per_second - knee.low_per_second > WIDE * knee.sustained_per_second;
    is_wide.then(|| longer(command, facts.duration))
}

/// After a target that kept up to the end.
pub(super) fn of_higher_rate(facts: &KneeFacts<'_>, least: f64) -> Option<String> {
    if facts.load_was_over {
        return Some("repeat the load ('iosonar load filter repeat:10'), and search again".into());
    }
    let command = command(facts)?;
    if command.has("--growth") {
        let over = facts.rising.over.as_secs_f64().max(1.0);
        let growth = ((facts.rising.to - facts.rising.from) as f64 / over * 10.0).ceil() as u64;
        let growth = growth.clamp(1, MOST_GROWTH).to_string();
        return Some(command.set(&["--growth"], &growth).text("higher"));
    }
    let higher = |rate: u64| rate.saturating_mul(10).min(MOST_RATE);
    if command.has("--to") {
        let from = (least / 2.0).max(1.0) as u64;
        return (facts.rising.to < MOST_RATE)
            .then(|| of_rates(command, from, higher(facts.rising.to), "higher"));
    }
    let most = higher(facts.most);
    (most > facts.most).then(|| command.set(&["--most"], &most.to_string()).text("higher"))
}

/// After a search without a clear answer.
pub(super) fn of_doubt(facts: &KneeFacts<'_>, why: Doubt) -> Option<String> {
    let command = command(facts)?;
    match why {
        Doubt::Stopped => Some(command.text("again")),
        Doubt::TooFew => Some(match facts.slow {
            Some(Rising { from, to, over, .. }) if !command.has("--growth") => {
                let command = command.set(&["--duration"], &over.to_string());
                of_rates(command, from, to, "slow")
            }
            _ => longer(command, facts.duration),
        }),
        Doubt::EndedThere if command.has("--to") => {
            let to = facts.rising.to.saturating_mul(2).min(MOST_RATE);
            Some(of_rates(command, facts.rising.from, to, "higher"))
        }
        Doubt::EndedThere | Doubt::TooShort | Doubt::Unsteady => Some(longer(command, facts.duration)),
    }
}

fn of_rates(command: Command, from: u64, to: u64, suffix: &str) -> String {
    let (from, to) = (from.to_string(), to.max(from + 1).to_string());
    command.set(&["--from"], &from).set(&["--to"], &to).text(suffix)
}

fn longer(command: Command, duration: Nanos) -> String {
    let longer = Nanos(duration.0.saturating_mul(4));
    command.set(&["--duration"], &longer.to_string()).text("longer")
}
