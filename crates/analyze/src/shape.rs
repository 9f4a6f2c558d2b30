//! Shapes of responses over time that recur in practice. `docs/shapes.md` has a picture of each, and its possible causes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A shape of the gallery that an event may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Nothing completes, again and again at equal intervals.
    PeriodicStall,
    /// Some requests are held while others pass.
    LongTailGroup,
    /// The response rises and falls again, several times.
    Sawtooth,
    /// The response rises with the number of requests in flight.
    FanOfDepth,
    /// The latency jumps, and stays.
    Cliff,
    /// The latency rises step by step.
    Staircase,
    /// The latency is high at first, and falls.
    WarmUp,
    /// The latency follows the size of the requests.
    SizeSteps,
    /// The program that measures stood still.
    ProgramHalted,
    /// Other programs used the device.
    Neighbour,
}

impl Shape {
    /// All of them, in the order of their declaration.
    pub const ALL: [Shape; 10] = [
        Shape::PeriodicStall,
        Shape::LongTailGroup,
        Shape::Sawtooth,
        Shape::FanOfDepth,
        Shape::Cliff,
        Shape::Staircase,
        Shape::WarmUp,
        Shape::SizeSteps,
        Shape::ProgramHalted,
        Shape::Neighbour,
    ];

    /// Its name in JSON, in `docs/shapes.md` as an anchor, and of its example.
    pub fn id(self) -> &'static str {
        match self {
            Shape::PeriodicStall => "periodic-stall",
            Shape::LongTailGroup => "long-tail-group",
            Shape::Sawtooth => "sawtooth",
            Shape::FanOfDepth => "fan-of-depth",
            Shape::Cliff => "cliff",
            Shape::Staircase => "staircase",
            Shape::WarmUp => "warm-up",
            Shape::SizeSteps => "size-steps",
            Shape::ProgramHalted => "program-halted",
            Shape::Neighbour => "neighbour",
        }
    }
}

impl Shape {
    /// Its name: `periodic stall`.
    pub fn name(self) -> String {
        match self {
            Shape::LongTailGroup => "long-tail group".into(),
            Shape::WarmUp => "warm-up".into(),
            _ => self.id().replace('-', " "),
        }
    }
}

impl fmt::Display for Shape {
    /// Its name, and where it is described: `periodic stall (docs/shapes.md#periodic-stall)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (docs/shapes.md#{})", self.name(), self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_id() {
        for shape in Shape::ALL {
            assert_eq!(serde_json::to_value(shape).unwrap(), shape.id());
        }
        assert_eq!(Shape::PeriodicStall.to_string(), "periodic stall (docs/shapes.md#periodic-stall)");
    }
}
