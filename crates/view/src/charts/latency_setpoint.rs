//! Latency over the time when requests were due: the only time base on which two runs of one load align.

use super::latency_realtime::{draw, over};
use super::message::{self, Message};
use super::{Chart, Draw};
use iosonar_analyze::Detail;

pub(super) static CHART: Chart = Chart {
    stem: "g02.latency.setpoint",
    keywords: &["latency.setpoint"],
    title: "Latency of every request over the time when it was due",
    message: Message::Figures(message::latency),
    draw: Draw::Run(Detail::Full, |view| {
        let label = "Time when the request was due, since the start of the run";
        draw(
            view,
            &CHART,
            &over(view, &view.diagrams.latency_by_due, &view.diagrams.failed.latency_by_due, label),
        )
    }),
};
