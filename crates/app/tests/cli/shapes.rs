//! The simulated shapes of `examples/shapes`: their events name the shape of the example or none. `devices::shapes` makes the real ones.

use crate::lab;
use iosonar_testkit::{Ended, Lab, ShapeExample, shape_examples};
use serde_json::Value;

/// Makes an example; its events.
fn events_of(lab: &Lab, example: &ShapeExample) -> Vec<Value> {
    let Ended { code, err, .. } = lab.script(&example.script);
    assert_eq!(code, 0, "{}: {err}", example.id);
    let json: Value =
        serde_json::from_str(&lab.expect(0, &format!("show --json {}", example.id)).out).unwrap();
    json["story"]["events"].as_array().cloned().unwrap_or_default()
}

#[test]
fn events_of_simulated_shapes_name_their_shape_or_none() {
    // Shapes that are seen all the time, and are no events.
    const WITHOUT_EVENTS: [&str; 2] = ["comb-of-batches", "staircase"];
    let lab = lab();
    let simulated: Vec<ShapeExample> =
        shape_examples().into_iter().filter(|example| example.is_simulated).collect();
    assert_eq!(simulated.len(), 7);
    for example in simulated {
        let events = events_of(&lab, &example);
        let shapes: Vec<&Value> = events.iter().map(|event| &event["shape"]).collect();
        let is_own = |shape: &&Value| **shape == example.id.as_str();
        assert!(shapes.iter().all(|shape| shape.is_null() || is_own(shape)), "{}: {events:#?}", example.id);
        let has_event = !WITHOUT_EVENTS.contains(&example.id.as_str());
        assert_eq!(shapes.iter().any(is_own), has_event, "{}: {events:#?}", example.id);
    }
    let text = lab.expect(0, "show --all periodic-stall").out;
    let guess = "\n    looks like: periodic stall (docs/shapes.md#periodic-stall)\n";
    assert_eq!(text.matches(guess).count(), 5, "{text}");
    assert!(!lab.expect(0, "show periodic-stall").out.contains("looks like"));
    lab.expect(0, "report periodic-stall -o page.html");
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains("title=\"docs/shapes.md#periodic-stall\">looks like: periodic stall</p>"));
}
