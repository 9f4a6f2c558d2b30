//! Job files of fio: they are not read as plans, but the command that says the same can be told.

use super::word;

/// The commands for the jobs of a job file; none if `text` is no job file.
pub fn commands(text: &str) -> Option<Vec<String>> {
    let mut global = Vec::new();
    let mut jobs: Vec<(&str, Vec<String>)> = Vec::new();
    let mut in_global = true;
    let mut options = 0;
    for line in text.lines() {
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            in_global = section.eq_ignore_ascii_case("global");
            if !in_global {
                jobs.push((section, Vec::new()));
            }
        } else if !line.is_empty() {
            let (name, value) =
                line.split_once('=').map_or((line, None), |(n, v)| (n.trim(), Some(v.trim())));
            options += u32::from(word(name).is_some());
            let option = value.map_or(format!("--{name}"), |value| format!("--{name}={value}"));
            let list = if in_global { Some(&mut global) } else { jobs.last_mut().map(|(_, list)| list) };
            list?.push(option);
        }
    }
    // A plan has none of fio's options at its beginning, and quotes its words.
    if jobs.is_empty() || options == 0 || text.contains('"') {
        return None;
    }
    let command = |(name, own): &(&str, Vec<String>)| {
        let name = format!("--name={name}");
        let words = ["iosonar run", &name].into_iter().chain(global.iter().chain(own).map(String::as_str));
        words.collect::<Vec<_>>().join(" ")
    };
    Some(jobs.iter().map(command).collect())
}
