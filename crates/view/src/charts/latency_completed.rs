//! Latency over completion: a stall is a wall, for many requests complete at one instant.

use super::latency_realtime::{draw, over};
use super::message::{self, Message};
use super::{Chart, Draw};
use iosonar_analyze::Detail;

pub(super) static CHART: Chart = Chart {
    stem: "g03.latency.completed",
    keywords: &["latency.completed"],
    title: "Latency of every request over the time of its completion",
    message: Message::Figures(message::latency),
    draw: Draw::Run(Detail::Full, |view| {
        let label = "Time of completion since the start of the run";
        draw(
            view,
            &CHART,
            &over(
                view,
                &view.diagrams.latency_by_completion,
                &view.diagrams.failed.latency_by_completion,
                label,
            ),
        )
    }),
};
