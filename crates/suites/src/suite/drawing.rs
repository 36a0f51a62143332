//! The figures of a suite, before they are drawn.

use crate::results::{CellResults, Metric, Results};
use ccactl_report::Estimate;
use ccactl_report::figure::Grid;
use ccactl_report::figure::bars::Bars;
use ccactl_report::figure::plot::{Line, Over, Plot, Point, Style};

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// Name of its file, without an extension.
    pub name: String,
    /// What stands under it.
    pub caption: String,
    /// What is drawn.
    pub kind: Kind,
}

/// Kinds of figures.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Something of the first valid run of a cell over time.
    OverTime {
        /// Name of the cell.
        cell: String,
        /// What.
        what: OverTime,
    },
    /// Something of the first flow in the first valid run of several cells over time, a line each.
    Across {
        /// Legend and name of each cell.
        cells: Vec<(String, String)>,
        /// What.
        what: OfFlow,
    },
    /// Lines over a parameter.
    Lines(Plot),
    /// Bars in groups.
    Bars(Bars),
    /// A matrix.
    Matrix(Grid),
}

/// What a recording shows over time; the names are those of the report's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverTime {
    /// Goodput of each flow.
    Throughput,
    /// Jain index per second.
    Jain,
    /// Congestion window of each flow.
    Cwnd,
    /// RTT of each flow.
    Rtt,
    /// Queueing delay of the bottleneck, as the link model saw it.
    Queue,
}

/// What of one flow is drawn beside that of other cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfFlow {
    /// The propagation delay that the algorithm believes in.
    MinRtt,
    /// The bandwidth that it estimates.
    Bandwidth,
    /// Payload delivered since the beginning.
    Delivered,
}

impl OfFlow {
    fn caption(self) -> &'static str {
        match self {
            OfFlow::MinRtt => "Estimated RTprop over time",
            OfFlow::Bandwidth => "Estimated bandwidth over time",
            OfFlow::Delivered => "Delivered payload over time",
        }
    }
}

impl OverTime {
    /// Name among the figures of a report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            OverTime::Throughput => "goodput",
            OverTime::Jain => "jain",
            OverTime::Cwnd => "cwnd",
            OverTime::Rtt => "rtt",
            OverTime::Queue => "queue",
        }
    }

    fn caption(self) -> &'static str {
        match self {
            OverTime::Throughput => "Goodput over time",
            OverTime::Jain => "Jain index per second over time",
            OverTime::Cwnd => "Congestion window over time",
            OverTime::Rtt => "RTT over time",
            OverTime::Queue => "Queueing delay of the bottleneck over time (link model)",
        }
    }
}

impl Drawing {
    /// Figures over time of every cell that `of` takes.
    pub fn over_time(results: &Results, what: &[OverTime], of: impl Fn(&CellResults) -> bool) -> Vec<Drawing> {
        let cells = results.cells.iter().filter(|cell| !cell.runs.is_empty() && of(cell));
        let one = |cell: &CellResults, what: OverTime| Drawing {
            name: format!("{}-{}", file_name(&cell.id), what.name()),
            caption: format!("{}, {}", what.caption(), cell.id),
            kind: Kind::OverTime { cell: cell.id.clone(), what },
        };
        cells.flat_map(|cell| what.iter().map(move |&what| one(cell, what))).collect()
    }

    /// One figure with a line per value of an axis, of the cells that have these labels.
    pub fn across(results: &Results, what: OfFlow, common: &[(&str, &str)], axis: &str, figure: &str) -> Vec<Drawing> {
        let cells = results.cells.iter().filter(|cell| !cell.runs.is_empty() && cell.has(common));
        let cells: Vec<(String, String)> =
            cells.map(|cell| (cell.label(axis).unwrap_or(&cell.id).to_owned(), cell.id.clone())).collect();
        if cells.is_empty() {
            return Vec::new();
        }
        let caption = format!("{}, as {figure}", what.caption());
        vec![Drawing { name: file_name(&figure.replace(' ', "-")), caption, kind: Kind::Across { cells, what } }]
    }

    /// Bars of a metric, unless none of them was measured.
    #[must_use]
    pub fn bars(
        name: &str,
        caption: &str,
        (metric, x_label): (Metric, &str),
        groups: &[&str],
        lines: &[BarLine],
    ) -> Vec<Drawing> {
        if lines.iter().flat_map(|line| &line.measured).all(Option::is_none) {
            return Vec::new();
        }
        let style = |style: Style, line: &BarLine, number: usize, points: Vec<Point>| Line {
            name: if style == Style::Printed { format!("{}, printed", line.name) } else { line.name.clone() },
            color: color(&line.name, number),
            number,
            style,
            points,
        };
        let mut drawn: Vec<Line> = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            let points = (0..).zip(&line.measured).filter_map(|(x, estimate)| {
                estimate.map(|estimate| Point { x: f64::from(x), y: estimate.mean, ci95: estimate.ci95 })
            });
            drawn.push(style(Style::Measured, line, number, points.collect()));
        }
        for (number, line) in lines.iter().enumerate() {
            let points =
                (0..).zip(&line.printed).filter_map(|(x, y)| Some(Point { x: f64::from(x), y: (*y)?, ci95: None }));
            let points: Vec<Point> = points.collect();
            if !points.is_empty() {
                drawn.push(style(Style::Printed, line, number, points));
            }
        }
        let kind = Kind::Bars(Bars {
            title: caption.to_owned(),
            x_label: x_label.to_owned(),
            y_label: metric.label(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            lines: drawn,
        });
        vec![Drawing { name: name.to_owned(), caption: caption.to_owned(), kind }]
    }

    /// Lines, unless none of them has a point.
    #[must_use]
    pub fn lines(name: &str, caption: &str, plot: Plot) -> Vec<Drawing> {
        if plot.lines.iter().all(|line| line.points.is_empty()) {
            return Vec::new();
        }
        vec![Drawing { name: name.to_owned(), caption: caption.to_owned(), kind: Kind::Lines(plot) }]
    }
}

/// What the bars of one colour show, group by group.
#[derive(Debug, Clone, PartialEq)]
pub struct BarLine {
    /// Legend; the colour is that of the algorithm of this name.
    pub name: String,
    /// Heights.
    pub measured: Vec<Option<Estimate>>,
    /// What the paper prints.
    pub printed: Vec<Option<f64>>,
}

/// A metric over an axis of the matrix: of the first flow where each has its own.
#[derive(Clone, Copy)]
pub struct Curve<'a> {
    metric: Metric,
    x: &'a str,
    x_label: &'a str,
    lines: Option<&'a str>,
    printed: &'a dyn Fn(&CellResults) -> Option<f64>,
}

impl<'a> Curve<'a> {
    /// A single line over the axis `x`; `x_label` is quantity and unit.
    #[must_use]
    pub fn of(metric: Metric, x: &'a str, x_label: &'a str) -> Self {
        Curve { metric, x, x_label, lines: None, printed: &|_| None }
    }

    /// A line per value of another axis.
    #[must_use]
    pub fn per(self, axis: &'a str) -> Self {
        Curve { lines: Some(axis), ..self }
    }

    /// Beside what the paper prints at a point.
    #[must_use]
    pub fn beside(self, printed: &'a dyn Fn(&CellResults) -> Option<f64>) -> Self {
        Curve { printed, ..self }
    }

    /// The figure, unless none of its lines has a point.
    #[must_use]
    pub fn drawing(&self, name: &str, caption: &str, results: &Results) -> Vec<Drawing> {
        Drawing::lines(name, caption, curves(self, results))
    }
}

/// The plot of a curve, measured lines first, then the printed ones.
fn curves(curve: &Curve<'_>, results: &Results) -> Plot {
    let mut measured = Vec::new();
    let mut printed = Vec::new();
    let lines = curve.lines.map_or_else(|| vec!["measured"], |axis| results.values(axis));
    for (number, value) in lines.into_iter().enumerate() {
        let cells = || {
            let of_line = |cell: &&CellResults| curve.lines.is_none_or(|axis| cell.label(axis) == Some(value));
            results.cells.iter().filter(of_line).filter_map(|cell| Some((number_of(cell.label(curve.x)?)?, cell)))
        };
        let line = |name: String, style: Style, points: Vec<Point>| Line {
            name,
            color: color(value, number),
            number,
            style,
            points: in_order(points),
        };
        let of_run = cells().filter_map(|(x, cell)| {
            let estimate = cell.estimate(curve.metric, 0)?;
            Some(Point { x, y: estimate.mean, ci95: estimate.ci95 })
        });
        measured.push(line(value.to_owned(), Style::Measured, of_run.collect()));
        let of_print = cells().filter_map(|(x, cell)| Some(Point { x, y: (curve.printed)(cell)?, ci95: None }));
        let points: Vec<Point> = of_print.collect();
        if !points.is_empty() {
            printed.push(line(format!("{value}, printed"), Style::Printed, points));
        }
    }
    measured.extend(printed);
    Plot {
        title: format!("{} over {}", curve.metric.heading(), curve.x_label),
        over: Over::Values,
        x_label: curve.x_label.to_owned(),
        y_label: curve.metric.label(),
        lines: measured,
    }
}

/// The distribution of the transfers' completion times over all valid runs, a line per value of `lines`.
#[must_use]
pub fn distribution(results: &Results, common: &[(&str, &str)], lines: &str, flow: usize) -> Plot {
    let line = |(number, value): (usize, &str)| {
        let of_line = |cell: &&CellResults| cell.has(common) && cell.label(lines) == Some(value);
        let runs = results.cells.iter().filter(of_line).flat_map(|cell| &cell.runs);
        let flows = runs.filter_map(|run| run.whole.flows.get(flow));
        let mut times: Vec<f64> = flows.flat_map(|flow| flow.completions_s.iter().copied()).collect();
        times.sort_by(f64::total_cmp);
        let all = times.len() as f64;
        let point = |(i, x): (usize, f64)| Point { x, y: (i + 1) as f64 / all, ci95: None };
        let points = times.into_iter().enumerate().map(point).collect();
        Line { name: value.to_owned(), color: color(value, number), number, style: Style::Steps, points }
    };
    Plot {
        title: "Distribution of flow completion times".to_owned(),
        over: Over::Values,
        x_label: Metric::Completion.label(),
        y_label: "ECDF".to_owned(),
        lines: results.values(lines).into_iter().enumerate().map(line).collect(),
    }
}

fn in_order(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

/// `0.5bdp`, `1e-5` and `196608` as numbers.
fn number_of(label: &str) -> Option<f64> {
    label.parse().ok().or_else(|| label.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%').parse().ok())
}

/// Of the registry; lines that are no algorithms have Okabe and Ito's colours in turn.
fn color(name: &str, number: usize) -> String {
    const OTHERS: [&str; 7] = ["#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"];
    let of_registry = ccactl_abi::Algorithm::by_name(name).map(|algorithm| algorithm.color);
    of_registry.unwrap_or(OTHERS[number % OTHERS.len()]).to_owned()
}

fn file_name(cell: &str) -> String {
    cell.chars().map(|c| if c.is_alphanumeric() || matches!(c, '.' | '-') { c } else { '-' }).collect()
}
