//! Names and colours of the causes of a story, the same in all pictures.

use super::View;
use crate::palette::Rgb;
use iosonar_analyze::Cause;

/// A few words for a column of a plot, or for a row of the blame strip.
pub(super) fn short(cause: Cause) -> &'static str {
    match cause {
        Cause::Halted => "halted",
        Cause::NoCpu => "waited for a CPU",
        Cause::Others => "others",
        Cause::Conflicts => "conflicts",
        Cause::TargetStoodStill => "stood still",
        Cause::DepthFull => "depth full",
        Cause::OtherRequests => "other requests",
        Cause::MoreAtOnce => "more at once",
        Cause::TargetSlower => "target slower",
        Cause::Unexplained => "unexplained",
    }
}

pub(super) fn color(view: &View<'_>, cause: Cause) -> Rgb {
    let p = view.palette;
    match cause {
        Cause::Halted => p.bad,
        Cause::NoCpu => p.series[4],
        Cause::Others => p.series[5],
        Cause::Conflicts => p.series[2],
        Cause::DepthFull => p.series[3],
        Cause::TargetStoodStill | Cause::TargetSlower => p.series[1],
        Cause::OtherRequests | Cause::MoreAtOnce => p.series[0],
        Cause::Unexplained => p.axis,
    }
}
