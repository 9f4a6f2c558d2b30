//! `iosonar analyze`: figures of loads, results and runs.

use crate::args::analyze::AnalyzeArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::presentation;
use crate::progress::while_reading;
use crate::ranks;
use anyhow::anyhow;
use iosonar_analyze::Needs;
use iosonar_inputs::{Analysis, Input};
use iosonar_text::csv::{Cell, Form, table};
use serde_json::Value;

/// Prints the figures of the inputs.
pub fn analyze(args: &AnalyzeArgs) -> Result<Exit, Failure> {
    let inputs = Input::open_all(&args.inputs, args.spool.spool_limit)?;
    let Some(inputs) = ranks::counted(inputs, &presentation::options((&args.limits).into(), &args.demand))?
    else {
        return Ok(Exit::Fine);
    };
    let groups: Vec<&[Input]> = if args.each { inputs.chunks(1).collect() } else { vec![&inputs] };
    let mut analyses = Vec::new();
    for group in groups {
        let options = presentation::options((&args.limits).into(), &args.demand);
        let analyse = || Analysis::of(group, &options, Needs::EVERYTHING);
        analyses.push(while_reading(&args.progress, group, analyse)?);
    }
    print(&text(args, &analyses))?;
    for analysis in &analyses {
        analysis.remarks.iter().for_each(|remark| print_message(format_args!("iosonar: {remark}")));
    }
    if analyses.iter().any(Analysis::is_empty) {
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        return Err(Failure::broke(anyhow!(
            "{}: there is no request in it; a load or result in blkreplay's form has lines of 'time ; sector ; length ; R \
             or W'",
            names.join(", ")
        )));
    }
    let doubtful = |a: &Analysis| !a.remarks.is_empty() || !a.cautions().is_empty() || a.needs_care();
    let strict = args.strict && analyses.iter().any(doubtful);
    Ok(if strict { Exit::Cautioned } else { Exit::Fine })
}

fn text(args: &AnalyzeArgs, analyses: &[Analysis]) -> String {
    let json = || match analyses {
        [only] => only.to_json(),
        several => Value::Array(several.iter().map(Analysis::to_json).collect()),
    };
    if args.json {
        return format!("{:#}\n", json());
    }
    if args.csv {
        return csv(&json(), Form { safe: args.csv_safe, crlf: false });
    }
    let texts: Vec<String> = analyses.iter().map(presentation::text).collect();
    texts.join("\n\n")
}

/// Lists every number and word of `value` as a line, named by its path from the top.
fn flatten(name: &str, value: &Value, lines: &mut Vec<[Cell<'static>; 2]>) {
    let below = |key: &str| if name.is_empty() { key.to_string() } else { format!("{name}.{key}") };
    let mut line = |cell| lines.push([Cell::Word(name.to_string().into()), cell]);
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| flatten(&below(key), value, lines)),
        Value::Array(list) => {
            (0..).zip(list).for_each(|(i, value): (usize, _)| flatten(&below(&i.to_string()), value, lines))
        }
        Value::Null => line(Cell::Absent),
        Value::String(text) => line(Cell::Quoted(text.clone().into())),
        other => line(Cell::Digits(other.to_string())),
    }
}

fn csv(value: &Value, form: Form) -> String {
    let mut lines = Vec::new();
    flatten("", value, &mut lines);
    table(form, ["name", "value"], lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_text_line() {
        let value = serde_json::json!({"a": {"b": [1, 2.5]}, "c": "say \"x\", y", "d": null, "e": true});
        let lines = csv(&value, Form::default());
        assert_eq!(lines, "name,value\na.b.0,1\na.b.1,2.5\nc,\"say \"\"x\"\", y\"\nd,\ne,true\n");
    }
}
