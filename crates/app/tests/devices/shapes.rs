//! The real shapes of `examples/shapes`: their events name the shape of the example or none. `cli::shapes` makes the simulated ones.

use crate::common::*;
use iosonar_testkit::{ShapeExample, shape_examples};
use serde_json::Value;

/// Causes that a busy machine adds to any run.
const OUTSIDE: [&str; 3] = ["halted", "no-cpu", "others"];

/// The events of an example that are about it: those with an outside cause only where the example is about that cause.
fn events_of(example: &ShapeExample) -> Vec<Value> {
    let lab = lab();
    let ended = lab.script(&example.script);
    assert_eq!(ended.code, 0, "{}: {}", example.id, ended.err);
    let json: Value =
        serde_json::from_str(&lab.expect(0, &format!("show --json {}", example.id)).out).unwrap();
    let mut events = json["story"]["events"].as_array().cloned().unwrap_or_default();
    let is_outside = |event: &Value| OUTSIDE.iter().any(|cause| event["cause"] == *cause);
    events.retain(|event| !is_outside(event) || event["shape"] == example.id.as_str());
    events
}

#[test]
fn events_of_real_shapes_name_their_shape_or_none() {
    needs!();
    for example in shape_examples().into_iter().filter(|example| !example.is_simulated) {
        let is_own = |event: &Value| event["shape"] == example.id.as_str();
        let is_other = |event: &Value| !event["shape"].is_null() && !is_own(event);
        let is_right = |events: &Value| !events.as_array().unwrap().iter().any(is_other);
        let has_one = |events: &Value| events.as_array().unwrap().iter().any(is_own);
        // A halt and a neighbour are planted as events.
        let must_have_one = ["program-halted", "neighbour"].contains(&example.id.as_str());
        comes_to_say(
            |events| is_right(events) && (has_one(events) || !must_have_one),
            || Value::Array(events_of(&example)),
        );
    }
}
