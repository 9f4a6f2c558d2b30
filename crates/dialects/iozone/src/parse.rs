//! Parses words into settings like getopt: `-azR`, `-s 1m` and `-s1m` are all understood.

use crate::options::{self, Opt};
use crate::settings::{Async, Settings};
use iosonar_dialect_common::UsageError;
use iosonar_plan::{ByteSize, Data, LONGEST_SAMPLE, Nanos, SHORTEST_SAMPLE};
use std::collections::VecDeque;
use std::ops::RangeInclusive;

/// Action of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A run.
    Run(Box<Settings>),
    /// Print [`crate::full_help`] only.
    Help,
    /// Print the program's version only.
    Version,
}

/// Record size limits: those of IOzone.
const RECORDS: RangeInclusive<u64> = 1..=16 << 20;

/// Reads IOzone's arguments, without the program's name.
///
/// # Errors
/// An unknown option, or a missing or invalid argument.
pub fn parse(args: &[String]) -> Result<Command, UsageError> {
    let mut reader = Reader { rest: args.iter().cloned().collect(), ..Reader::default() };
    reader.settings.typed = args.join(" ");
    while let Some(word) = reader.rest.pop_front() {
        match word.strip_prefix("--") {
            Some(long) => {
                let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
                reader.option(&format!("--{name}"), value.map(String::from))?;
            }
            None => reader.letters(&word)?,
        }
        if let Some(answer) = reader.answer.take() {
            return Ok(answer);
        }
    }
    let mut settings = reader.settings;
    if settings.cpu_cache.is_some() && !settings.purge {
        settings
            .notices
            .push("-S has no effect without -p: nothing else depends on the size of the CPU cache".into());
    }
    Ok(Command::Run(Box::new(settings)))
}

#[derive(Default)]
struct Reader {
    rest: VecDeque<String>,
    settings: Settings,
    answer: Option<Command>,
}

impl Reader {
    /// Parses a word such as `-azR`, `-s1m` or `-+n`.
    fn letters(&mut self, word: &str) -> Result<(), UsageError> {
        let Some(mut letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            let remedy = match word.contains('/') {
                true => {
                    "test files are named with -f, or with -F after -t; IOzone ignores this word, and measures another file"
                }
                false => "remove it, or name a test file with -f",
            };
            return Err(UsageError::new(format_args!("{word}: this word belongs to no option: {remedy}")));
        };
        while let Some(letter) = letters.chars().next() {
            let length = match letter {
                '+' => 1 + letters[1..].chars().next().map_or(0, char::len_utf8),
                _ => letter.len_utf8(),
            };
            let (name, after) = letters.split_at(length);
            let name = format!("-{name}");
            // The rest of the word is the argument, if the option takes one.
            let takes = options::find(&name).is_some_and(|option| !option.args.is_empty());
            let value = Some(after).filter(|after| takes && !after.is_empty());
            self.option(&name, value.map(String::from))?;
            letters = if takes { "" } else { after };
        }
        Ok(())
    }

    fn option(&mut self, name: &str, value: Option<String>) -> Result<(), UsageError> {
        let option = options::find(name).ok_or_else(|| unknown(name))?;
        if option.args.is_empty() && value.is_some() {
            return Err(UsageError::new(format_args!("{name} takes no value: remove it")));
        }
        (option.read)(&mut Call { option, value, reader: self })
    }
}

/// Description of a size in errors.
const SIZE: &str = "a size above 0, in KiB or with k, m or g";

fn number_in(range: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

fn unknown(name: &str) -> UsageError {
    match options::later(name) {
        Some(remedy) => UsageError::new(format_args!("{name}: {remedy}")),
        None => UsageError::new(format_args!("{name}: there is no such option: -h lists all")),
    }
}

/// An option being parsed.
pub(crate) struct Call<'a> {
    option: &'static Opt,
    /// The argument, if it is in the same word.
    value: Option<String>,
    reader: &'a mut Reader,
}

impl Call<'_> {
    pub(crate) fn settings(&mut self) -> &mut Settings {
        &mut self.reader.settings
    }

    pub(crate) fn name(&self) -> &'static str {
        self.option.name
    }

    pub(crate) fn answer(&mut self, answer: Command) -> Result<(), UsageError> {
        self.reader.answer = Some(answer);
        Ok(())
    }

    fn wrong(&self, problem: impl std::fmt::Display) -> UsageError {
        UsageError::new(format_args!("{} {problem}", self.name()))
    }

    /// Returns the argument. A word that looks like an option is refused: IOzone would take it silently.
    pub(crate) fn word(&mut self, what: &str) -> Result<String, UsageError> {
        let next = self.value.take().or_else(|| {
            let is_option = self.reader.rest.front()?.starts_with('-');
            if is_option { None } else { self.reader.rest.pop_front() }
        });
        next.filter(|word| !word.is_empty()).ok_or_else(|| self.wrong(format_args!("needs {what}")))
    }

    /// Parses the name of an output; `-` is standard output.
    pub(crate) fn output(&mut self) -> Result<String, UsageError> {
        match self.value.is_none() && self.reader.rest.front().is_some_and(|word| word == "-") {
            true => Ok(self.reader.rest.pop_front().unwrap_or_default()),
            false => self.word("the name of a file"),
        }
    }

    /// Parses a whole number.
    pub(crate) fn number(&mut self, range: RangeInclusive<u64>) -> Result<u64, UsageError> {
        let word = self.word(&number_in(&range))?;
        self.number_of(&word, range)
    }

    fn number_of(&self, word: &str, range: RangeInclusive<u64>) -> Result<u64, UsageError> {
        let number = word.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| self.wrong(format_args!("{word}: {} is needed", number_in(&range))))
    }

    /// Parses a time between samples, as in plans: `100ms`.
    pub(crate) fn interval(&mut self) -> Result<Nanos, UsageError> {
        let word = self.word("a time")?;
        let is_possible = |time: &Nanos| (SHORTEST_SAMPLE..=LONGEST_SAMPLE).contains(time);
        let time = word.parse().ok().filter(is_possible);
        time.ok_or_else(|| {
            self.wrong(format_args!("{word}: a time from {SHORTEST_SAMPLE} to {LONGEST_SAMPLE} is needed"))
        })
    }

    /// Parses a size: KiB, or with k, m or g.
    pub(crate) fn size(&mut self) -> Result<ByteSize, UsageError> {
        let word = self.word(SIZE)?;
        self.size_of(&word)
    }

    fn size_of(&self, word: &str) -> Result<ByteSize, UsageError> {
        let (digits, shift) = match word.char_indices().last() {
            Some((at, 'k' | 'K')) => (&word[..at], 10),
            Some((at, 'm' | 'M')) => (&word[..at], 20),
            Some((at, 'g' | 'G')) => (&word[..at], 30),
            _ => (word, 10),
        };
        let number: Option<u64> = digits.parse().ok().filter(|number| *number > 0);
        let bytes = number.filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
        let bytes = bytes.and_then(|number| number.checked_mul(1 << shift)).filter(|bytes| *bytes < 1 << 62);
        bytes.map(ByteSize).ok_or_else(|| self.wrong(format_args!("{word}: {SIZE} is needed")))
    }

    /// Parses the size of a burst, a comma, and milliseconds.
    pub(crate) fn burst(&mut self, range: RangeInclusive<u64>) -> Result<(ByteSize, u32), UsageError> {
        const SIZE_AND_TIME: &str = "SIZE,MILLISECONDS, as 1m,100";
        let word = self.word(SIZE_AND_TIME)?;
        let Some((size, ms)) = word.split_once(',') else {
            return Err(self.wrong(format_args!("{word}: {SIZE_AND_TIME} is needed")));
        };
        Ok((self.size_of(size)?, self.number_of(ms, range)? as u32))
    }

    /// Parses the size of a record.
    pub(crate) fn record(&mut self) -> Result<ByteSize, UsageError> {
        let size = self.size()?;
        match RECORDS.contains(&size.0) {
            true => Ok(size),
            false => Err(self.wrong(format_args!("{size}: a record has at most 16 MiB"))),
        }
    }

    /// Parses one file name per stream.
    pub(crate) fn files(&mut self) -> Result<Vec<String>, UsageError> {
        let settings = &self.reader.settings;
        let count = settings
            .streams
            .iter()
            .copied()
            .chain(settings.most_streams)
            .max()
            .ok_or_else(|| self.wrong("names a file for each stream: write -t N before it"))?;
        let mut files = Vec::new();
        while files.len() < count as usize {
            let found = files.len();
            let needs = format!("one file for each of {count} streams, and found {found}");
            files.push(self.word(&needs)?);
        }
        Ok(files)
    }

    /// Parses the words up to the next option, at least one.
    pub(crate) fn words(&mut self, what: &str) -> Result<Vec<String>, UsageError> {
        let mut words = vec![self.word(what)?];
        while self.reader.rest.front().is_some_and(|word| !word.starts_with('-')) {
            words.extend(self.reader.rest.pop_front());
        }
        Ok(words)
    }

    /// Parses one of some words.
    pub(crate) fn choice(&mut self, words: &[&str]) -> Result<usize, UsageError> {
        let what = format!("one of {}", words.join(", "));
        let word = self.word(&what)?;
        let place = words.iter().position(|known| *known == word);
        place.ok_or_else(|| self.wrong(format_args!("{word}: {what} is needed")))
    }

    /// Sets the data to write; allowed once.
    pub(crate) fn content(&mut self, data: Data) -> Result<(), UsageError> {
        match self.reader.settings.data.replace(data) {
            None => Ok(()),
            Some(_) => Err(self.wrong("stands beside another option for what is written: keep one of them")),
        }
    }

    pub(crate) fn asynchronous(&mut self, wanted: Async) -> Result<(), UsageError> {
        if self.reader.settings.asynchronous.is_some() {
            return Err(self.wrong("stands beside another -H or -k: keep one of them"));
        }
        self.reader.settings.asynchronous = Some(wanted);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Settings, String> {
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        match parse(&args).map_err(|error| error.to_string())? {
            Command::Run(settings) => Ok(*settings),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn option_arguments_may_be_attached_or_separate() {
        let settings = read("-azR -i 0 -i1 -s1m -r 64K -+n -b out.xls").unwrap();
        assert!(settings.auto && settings.no_crossover && settings.report && settings.no_retest);
        assert_eq!((settings.tests, settings.sizes), (vec![0, 1], vec![ByteSize(1 << 20)]));
        assert_eq!((settings.records, settings.workbook), (vec![ByteSize(64 << 10)], Some("out.xls".into())));
        assert_eq!(read("-s 100").unwrap().sizes, [ByteSize(100 << 10)]);
        assert_eq!(read("--seed=7 --json a").unwrap().seed, Some(7));
        assert_eq!(read("-t 2 -F a b").unwrap().files, ["a", "b"]);
        assert_eq!(parse(&["-h".into()]), Ok(Command::Help));
    }

    #[test]
    fn rejects_invalid_options_by_name() {
        for (line, words) in [
            ("-s abc", "-s abc: a size above 0"),
            ("-s 0", "-s 0: a size"),
            ("-s", "-s needs a size"),
            ("-s 1x", "-s 1x"),
            ("-s +5", "-s +5"),
            ("-s 99999999999g", "-s 99999999999g"),
            ("-r 32m", "-r 32MiB: a record has at most 16 MiB"),
            ("-i 13", "-i 13: a whole number from 0 to 12"),
            ("-i abc", "-i abc"),
            ("-V -a", "-V needs a whole number"),
            ("-+Q", "-+Q: there is no such option"),
            ("-+", "-+: there is no such option"),
            ("-", "-: this word belongs to no option"),
            ("-t 2 -F a", "-F needs one file for each of 2 streams, and found 1"),
            ("-t 2 -F a -w", "-F needs one file"),
            ("-F a", "-t N before it"),
            ("-+b 5", "-+b 5: SIZE,MILLISECONDS"),
            ("-+b x,5", "-+b x: a size"),
            ("-+b 64,0", "-+b 0: a whole number from 1"),
            ("-J 0", "-J 0: a whole number"),
            ("-H 2 -k 2", "-k stands beside another"),
            ("-t 1025", "-t 1025"),
            ("result_file", "result_file: this word belongs to no option: remove it, or name a test file"),
            (
                "-Ra /dev/md0 -b t.xls",
                "/dev/md0: this word belongs to no option: test files are named with -f, or",
            ),
            (
                "-t1 -i0 -i2 -r1k -s1g /tmp",
                "/tmp: this word belongs to no option: test files are named with -f, or",
            ),
            ("--json", "--json needs"),
            ("--destroy=1", "--destroy takes no value"),
            ("-\u{e9}", "-\u{e9}: there is no such option"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(words) && !error.contains('\n'), "{line}: {error}");
        }
    }
}
