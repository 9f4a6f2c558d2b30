//! `iosonar live`: a finished or running run in the live view.

use super::live_http::live_http;
use super::open;
use crate::archive_view::{Show, Source};
use crate::args::live::LiveArgs;
use crate::exit::{Exit, Failure};
use crate::live::{LiveView, cautions_of, style, title_of};
use crate::output::print;
use crate::playback::Player;
use crate::screen::Screen;
use crate::signals;
use anyhow::anyhow;
use iosonar_archive::{Archive, RECORDING, RunState};
use iosonar_engine::Control;
use iosonar_plan::Nanos;
use iosonar_text::shown;
use iosonar_view::live::{LiveState, Ramp, Setting, draw};
use std::sync::Arc;

/// Shows an archive.
pub fn live(args: &LiveArgs) -> Result<Exit, Failure> {
    let archive = open(&args.dir)?;
    if let Some(address) = args.http {
        return live_http(args, address.0, &archive);
    }
    // A chosen time or speed shows existing records, not new ones.
    let is_followed = args.once || (args.at.is_none() && args.speed.is_none());
    let mut source = Source::open(&archive, is_followed)?;
    if args.once {
        return once(args, &archive, &source);
    }
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    let screen = Some(()).filter(|()| !is_dumb).and_then(|()| Screen::open()).ok_or_else(|| {
        Failure::refused(anyhow!(
            "iosonar live needs a terminal on standard error that can move its cursor: --once prints one picture as text, \
             'iosonar show {}' the figures",
            shown(&args.dir)
        ))
    })?;
    let control = Arc::new(Control::default());
    signals::stop_on_signal(control.clone(), || {})?;
    let mut view = LiveView::new(setting(&archive, &source), screen, true);
    view.state.show_whole();
    let speed = args.speed.map(|speed| speed.unscale(Nanos::from_secs(1)).as_secs_f64());
    let mut show = Show::new(&args.dir, args.at.unwrap_or(Nanos(0)), speed);
    show.run(&mut source, &mut view, &control)?;
    drop(view);
    Ok(control.signal().map_or(Exit::Fine, |signal| Exit::Signal(signal.0)))
}

/// Prints one picture.
fn once(args: &LiveArgs, archive: &Archive, source: &Source) -> Result<Exit, Failure> {
    let size = args.size.or_else(|| iosonar_os::Terminal::open().ok().flatten()?.size()).unwrap_or((80, 24));
    let mut state = LiveState::new(Setting { keys: Vec::new(), ..setting(archive, source) });
    state.show_whole();
    let until = source.slices.until(args.at.unwrap_or(Nanos(u64::MAX)));
    Player::default().show(&source.slices, until, source.is_growing(), &mut state);
    print(&draw(&state, size, Ramp::Mono, style().1).to_text())?;
    Ok(Exit::Fine)
}

fn setting(archive: &Archive, source: &Source) -> Setting {
    let run = archive.run();
    let factors =
        run.targets.iter().filter(|t| t.size > 0).map(|t| t.max_requested_end as f64 / t.size as f64);
    let state = match &run.state {
        RunState::Finished | RunState::Unconverted(_) => "",
        RunState::Interrupted(_) => "interrupted: ",
        RunState::Broken(_) => "broken: ",
        RunState::Running => "unfinished: ",
    };
    let depth = (!run.is_import && run.tool != RECORDING).then_some(archive.plan().depth());
    let is_load =
        archive.plan().jobs().any(|(_, job)| matches!(job.workload, iosonar_plan::Workload::Trace(_)));
    let data_errors = run.verified.as_ref().and_then(iosonar_plaintext::data_errors);
    let cautions = cautions_of(archive.plan(), factors.filter(|_| is_load));
    Setting {
        title: format!("{state}{}", title_of(&run.targets, archive.plan(), depth)),
        span: Some(source.slices.end()).filter(|_| !source.is_growing()),
        depth: None,
        late_limit: None,
        cautions: data_errors.into_iter().chain(cautions).collect(),
        base: source.slices.length(),
        keys: vec![
            ("q", "uit"),
            ("p", "ause"),
            ("<>", "seek"),
            ("+-", "time"),
            ("rw", "filter"),
            ("l", "og"),
            ("s", "ave"),
            ("?", ""),
        ],
    }
}
