//! Latency over the number of the request: equal room for each request, a magnifier for bursts.

use super::band::{Overlay, Panel};
use super::latency_realtime::{draw, over};
use super::message::{self, Message};
use super::{Chart, Draw};
use iosonar_analyze::Detail;

pub(super) static CHART: Chart = Chart {
    stem: "g03.latency.points",
    keywords: &["latency.points"],
    title: "Latency of every request, one after the other in order of completion",
    message: Message::Figures(message::latency),
    draw: Draw::Run(Detail::Full, |view| {
        let label = "Number of the request in order of completion";
        let panel =
            over(view, &view.diagrams.latency_by_number, &view.diagrams.failed.latency_by_number, label);
        draw(view, &CHART, &Panel { by_number: true, overlay: Overlay::Nothing, ..panel })
    }),
};
