//! Medians, spread and the Markdown that shows them.

use std::fs;

use crate::args::Options;
use crate::contender::Contender;
use crate::{Round, Work};

/// What the figures were measured on.
pub(crate) fn heading(options: &Options, servers: &str) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("");
    let model = model.trim_start_matches([' ', '\t', ':']);
    let kernel = kernel.split('-').next().unwrap_or_default().trim();
    let smoke =
        if options.smoke { " A smoke run: it shows that everything works, the figures mean nothing." } else { "" };
    format!(
        "{servers}, loopback, {} bytes a body, {} queues; {cores} cores ({model}), Linux {kernel}; {} rounds.{smoke}\n",
        options.size, options.queues, options.rounds
    )
}

/// The table of one work: medians, ratios as median with the least and the greatest of the rounds.
pub(crate) fn of_work(work: Work, count: u64, contenders: &[Contender], rounds: &[Round]) -> String {
    let consume = work == Work::Consume;
    let latency = if consume { "" } else { " p50 us | p99 us |" };
    let rule = if consume { "" } else { " ---: | ---: |" };
    let mut text = format!(
        "### {}, {count} messages a run\n\n\
         | who | CPU us/message | CPU / floor | messages/s | rate / floor |{latency} peak KiB | reads, writes/message |\n\
         | --- | ---: | ---: | ---: | ---: |{rule} ---: | ---: |\n",
        work.title()
    );
    for (index, contender) in contenders.iter().enumerate() {
        let figure = |name: &str| median(rounds.iter().filter_map(|round| round.get(index)?.get(name)).collect());
        let ratio = |name: &str| -> String {
            let of_round = |round: &Round| Some(round.get(index)?.get(name)? / round.first()?.get(name)?);
            spread(rounds.iter().filter_map(of_round).collect())
        };
        let latency = if consume {
            String::new()
        } else {
            format!(" {} | {} |", shown(figure("p50_us"), 1), shown(figure("p99_us"), 1))
        };
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} |{latency} {} | {}, {} |\n",
            contender.name(),
            shown(figure("cpu_us_per_message"), 2),
            ratio("cpu_us_per_message"),
            shown(figure("rate"), 0),
            ratio("rate"),
            shown(figure("max_rss_kb"), 0),
            shown(figure("reads_per_message"), 3),
            shown(figure("writes_per_message"), 3),
        ));
    }
    text
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.digits$}"))
}

fn spread(ratios: Vec<f64>) -> String {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match (ratios.len(), median(ratios)) {
        (_, None) => "-".into(),
        (1, Some(only)) => format!("{only:.2}"),
        (_, Some(middle)) => format!("{middle:.2} ({least:.2} to {greatest:.2})"),
    }
}

/// The middle value; of an even number the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get((values.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Figures;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn a_ratio_is_taken_in_each_round() {
        let figures = |cpu: f64, rate: f64| {
            let line = format!("{{\"cpu_us_per_message\":{cpu},\"rate\":{rate},\"p50_us\":7,\"max_rss_kb\":10}}");
            Figures::parse(&line).unwrap()
        };
        let rounds = [
            vec![figures(1.0, 100.0), figures(2.0, 50.0)],
            vec![figures(10.0, 10.0), figures(15.0, 10.0)],
            vec![figures(1.0, 100.0), figures(1.0, 90.0)],
        ];
        let contenders = [
            Contender::Floor("floor".into()),
            Contender::Rocketry { command: "rocketry".into(), runtime: "smol".into() },
        ];
        let text = of_work(Work::Send, 9, &contenders, &rounds);
        let last = text.lines().last().unwrap();
        let wanted = "| rocketry, smol | 2.00 | 1.50 (1.00 to 2.00) | 50 | 0.90 (0.50 to 1.00) | 7.0 | - | 10 | -, - |";
        assert_eq!(last, wanted);
        let cells: Vec<usize> = text.lines().skip(2).map(|line| line.matches('|').count()).collect();
        assert!(cells.iter().all(|count| *count == cells[0]), "{text}");
    }
}
