//! The command line of a test program, as far as cargo and its relatives use it.

use std::fmt;

/// What the command line asks for: words choose cases by a part of their names, or by the whole name with `--exact`;
/// `--skip WORD` leaves cases out; `--list` names them; `--ignored` asks for cases that are always ignored, of which there
/// are none; `--long` asks for long forms. What concerns output and threads is taken and changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Args {
    pub(super) filters: Vec<String>,
    pub(super) skip: Vec<String>,
    pub(super) exact: bool,
    pub(super) ignored: bool,
    pub(super) list: bool,
    pub(super) long: bool,
}

/// An option that these programs do not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOption(String);

impl fmt::Display for UnknownOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is no option of this test program, or lacks its value", self.0)
    }
}

/// Options with a value that change nothing here.
const VALUED: [&str; 5] = ["--test-threads", "--format", "--color", "--logfile", "-Z"];

/// Options without one.
const BARE: [&str; 10] = [
    "--nocapture",
    "--no-capture",
    "--show-output",
    "--quiet",
    "-q",
    "--include-ignored",
    "--report-time",
    "--test",
    "--bench",
    "--force-run-in-process",
];

impl Args {
    /// Reads the words after the program's name.
    ///
    /// # Errors
    /// An option that is not known.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, UnknownOption> {
        let mut args = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) if name.starts_with('-') => (name.to_owned(), Some(value.to_owned())),
                _ => (word, None),
            };
            match name.as_str() {
                "--exact" => args.exact = true,
                "--ignored" => args.ignored = true,
                "--list" => args.list = true,
                "--long" => args.long = true,
                "--skip" => args.skip.push(attached.or_else(|| words.next()).ok_or(UnknownOption(name))?),
                option if VALUED.contains(&option) => {
                    attached.or_else(|| words.next()).ok_or(UnknownOption(name))?;
                }
                option if BARE.contains(&option) => {}
                option if option.starts_with('-') => return Err(UnknownOption(name)),
                _ => args.filters.push(name),
            }
        }
        Ok(args)
    }

    pub(super) fn choose(&self, name: &str) -> bool {
        let fits = |word: &String| if self.exact { name == word } else { name.contains(word.as_str()) };
        !self.ignored && (self.filters.is_empty() || self.filters.iter().any(fits)) && !self.skip.iter().any(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, UnknownOption> {
        Args::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn words_choose_and_skip_leaves_out() {
        let args = parse("round kill --skip 4.2.0 --nocapture --test-threads 1 --color=always").expect("known options");
        assert!(args.choose("round_trip_on_5.3.3") && args.choose("kill"));
        assert!(!args.choose("round_trip_on_4.2.0") && !args.choose("other"));
        assert!(parse("").expect("nothing").choose("anything"));
    }

    #[test]
    fn exact_wants_whole_names_and_nothing_is_always_ignored() {
        let args = parse("--exact round").expect("known options");
        assert!(args.choose("round") && !args.choose("round_trip"));
        assert!(!parse("--ignored").expect("known options").choose("round"));
        assert!(parse("--long --list").is_ok_and(|args| args.long && args.list));
    }

    #[test]
    fn a_misspelt_option_is_not_passed_over() {
        assert_eq!(parse("--lomg"), Err(UnknownOption("--lomg".into())));
        assert_eq!(parse("--skip"), Err(UnknownOption("--skip".into())));
        assert_eq!(parse("--format"), Err(UnknownOption("--format".into())));
    }
}
