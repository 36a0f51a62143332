//! One still figure (SVG) of a recording for documents: window and RTT over time, one above the other.
//!
//! The same reduced series as on the page (`charts`), thinned once more to the columns of the figure with the extremes
//! of each column kept. So a file stays below 60 kB whatever the length of the recording. The background is
//! transparent, and text and axes have a grey that reads on white and on black. A media query lightens lines that are too
//! dark for a dark background.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{color, thin};
use crate::charts::{Charts, FlowCharts, Series, plain};
use crate::html::escape;
use crate::{Error, RecordingSummary, output};

/// Twice the width at which a page shows it, because the SVG writer places everything on whole pixels.
const WIDTH: u32 = 1600;
const HEIGHT: u32 = 1040;
const TITLE_HEIGHT: i32 = 64;
const LEFT: i32 = 130;
const RIGHT: i32 = 24;
const BOTTOM: i32 = 76;
/// Points of a line are at least so far apart.
const COLUMN_WIDTH: u32 = 2;
const FONT: &str = "sans-serif";
const TITLE_SIZE: i32 = 34;
const TEXT_SIZE: i32 = 28;
const TICKS: usize = 6;
/// Contrast of 4.0 to white and 5.3 to black.
const INK: RGBColor = RGBColor(0x80, 0x80, 0x80);
const GRID_OPACITY: f64 = 0.3;
const LINE_WIDTH: u32 = 3;
const MARK_WIDTH: u32 = 1;
/// More names than this do not fit into the title.
const MAX_NAMES: usize = 4;
/// Free space above the largest value.
const HEADROOM: f64 = 1.06;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Draws window and RTT of the flows of one recording, of which these are summary and charts.
#[must_use]
pub fn svg(summary: &RecordingSummary, charts: &Charts) -> String {
    draw(charts, &title(summary), (summary.from_s, summary.to_s))
}

/// Writes the figure to `path`, whole or not at all.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, summary: &RecordingSummary, charts: &Charts) -> Result<(), Error> {
    output::write_whole(path, svg(summary, charts).as_bytes())
}

/// `cubic · 100 Mbit/s, 10 ms, buffer 2 BDP`
fn title(summary: &RecordingSummary) -> String {
    let names: Vec<&str> = summary.algorithms.iter().map(|algorithm| algorithm.algorithm.as_str()).collect();
    // A tour through many algorithms is told by its marks.
    let mut title = if names.len() > MAX_NAMES { format!("{} algorithms", names.len()) } else { names.join(" and ") };
    if let Some(link) = &summary.link {
        let rtt = link.base_rtt_us.map(|us| format!(", {} ms", plain(us / 1e3))).unwrap_or_default();
        let buffer = link.buffer_bdp.map(|bdp| format!(", buffer {} BDP", plain(bdp))).unwrap_or_default();
        title.push_str(&format!(" · {} Mbit/s{rtt}{buffer}", plain(link.rate_bps / 1e6)));
    }
    title
}

fn draw(charts: &Charts, title: &str, window_s: (f64, f64)) -> String {
    let mut svg = String::new();
    {
        let whole = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
        let (head, body) = whole.split_vertically(TITLE_HEIGHT);
        let panels = body.split_evenly((2, 1));
        heading(&head, title)
            .and_then(|()| panel(&panels[0], charts, window_s, "cwnd [packets]", |flow| &flow.cwnd))
            .and_then(|()| panel(&panels[1], charts, window_s, "RTT [ms]", |flow| &flow.rtt))
            .and_then(|()| whole.present())
            .expect("text takes whatever is drawn into it");
    }
    describe(&svg, charts, title)
}

fn heading(area: &Area<'_>, title: &str) -> Drawn {
    let style = (FONT, TITLE_SIZE).into_font().color(&INK);
    area.draw(&Text::new(title.to_owned(), (LEFT + RIGHT, (TITLE_HEIGHT - TITLE_SIZE) / 2), style))
}

fn panel(
    area: &Area<'_>,
    charts: &Charts,
    (from_s, to_s): (f64, f64),
    unit: &str,
    series: fn(&FlowCharts) -> &Series,
) -> Drawn {
    let values = charts.flows.iter().flat_map(|flow| series(flow).v.iter().flatten());
    let top = values.copied().fold(0.0, f64::max) * HEADROOM;
    let mut chart = ChartBuilder::on(area)
        .margin_left(RIGHT)
        .margin_right(RIGHT)
        .margin_top(RIGHT / 2)
        .margin_bottom(RIGHT / 2)
        .set_label_area_size(LabelAreaPosition::Left, LEFT)
        .set_label_area_size(LabelAreaPosition::Bottom, BOTTOM)
        .build_cartesian_2d(from_s..to_s.max(from_s + 1e-3), 0.0..top.max(1e-3))?;
    chart
        .configure_mesh()
        .axis_style(INK)
        .bold_line_style(INK.mix(GRID_OPACITY))
        .light_line_style(TRANSPARENT)
        .label_style((FONT, TEXT_SIZE).into_font().color(&INK))
        .x_labels(TICKS + 1)
        .y_labels(TICKS)
        .x_label_formatter(&|x| plain(*x))
        .y_label_formatter(&|y| plain(*y))
        .x_desc("time [s]")
        .y_desc(unit)
        .draw()?;
    for mark in charts.flows.iter().flat_map(|flow| &flow.swaps) {
        let line = [(mark.at_s, 0.0), (mark.at_s, top)];
        chart.draw_series(LineSeries::new(line, color::parse(&mark.color).stroke_width(MARK_WIDTH)))?;
    }
    let columns = (WIDTH as i32 - LEFT - 2 * RIGHT) as u32 / COLUMN_WIDTH;
    for flow in &charts.flows {
        let color = color::parse(&flow.color);
        for (i, line) in thin::lines(series(flow), (from_s, to_s), columns).into_iter().enumerate() {
            let drawn = chart.draw_series(LineSeries::new(line, color.stroke_width(LINE_WIDTH)))?;
            if i == 0 && charts.flows.len() > 1 {
                let key = move |(x, y)| PathElement::new([(x, y), (x + 30, y)], color.stroke_width(LINE_WIDTH));
                drawn.label(flow.name.clone()).legend(key);
            }
        }
    }
    if charts.flows.len() > 1 {
        let labels = (FONT, TEXT_SIZE).into_font().color(&INK);
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .legend_area_size(40)
            .label_font(labels)
            .draw()?;
    }
    Ok(())
}

/// Adds what the writer of the SVG has no word for: a title for screen readers, and lighter lines on dark backgrounds.
fn describe(svg: &str, charts: &Charts, title: &str) -> String {
    let marks = charts.flows.iter().flat_map(|flow| &flow.swaps).map(|mark| &mark.color);
    let flows = charts.flows.iter().map(|flow| &flow.color);
    let mut hexes: Vec<&String> = flows.chain(marks).collect();
    hexes.sort_unstable();
    hexes.dedup();
    let colors: Vec<RGBColor> = hexes.into_iter().map(|hex| color::parse(hex)).collect();
    let lighter: String = colors
        .iter()
        .filter_map(|&dark| {
            let (dark, light) = (color::hex(dark), color::hex(color::on_dark(dark)?));
            Some(format!("[stroke=\"{dark}\"]{{stroke:{light}}}"))
        })
        .collect();
    let head = format!(
        "<title>cwnd and RTT over time: {}</title>\n<style>@media (prefers-color-scheme:dark){{{lighter}}}</style>\n",
        escape::text(title)
    );
    let end_of_tag = svg.find("<svg").and_then(|start| Some(start + svg[start..].find('>')? + 1));
    let at = end_of_tag.expect("an SVG starts with its tag");
    format!("{} {head}{}", &svg[..at], &svg[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(values: usize) -> FlowCharts {
        let t: Vec<f64> = (0..values).map(|i| i as f64 * 30.0 / values as f64).collect();
        let v: Vec<Option<f64>> = (0..values).map(|i| Some((i * 7919 % 400) as f64)).collect();
        let series = Series { t, v };
        FlowCharts {
            name: "flow".to_owned(),
            algorithm: "<veno>".to_owned(),
            color: "#332288".to_owned(),
            rtt: series.clone(),
            cwnd: series,
            ..FlowCharts::default()
        }
    }

    fn charts(values: usize) -> Charts {
        Charts { flows: vec![flow(values)], ..Charts::default() }
    }

    #[test]
    fn a_figure_of_noise_stays_small() {
        let svg = draw(&charts(5000), "<veno>", (0.0, 30.0));
        assert!(svg.len() < 60_000, "{} bytes", svg.len());
        assert!(svg.matches("<polyline").count() >= 2);
    }

    #[test]
    fn names_are_text_and_dark_lines_are_lightened_on_dark_backgrounds() {
        let svg = draw(&charts(100), "<veno>", (0.0, 30.0));
        assert!(svg.contains("<title>cwnd and RTT over time: &lt;veno&gt;</title>"), "{}", &svg[..400]);
        assert!(svg.contains("[stroke=\"#332288\"]{stroke:#"), "{}", &svg[..400]);
        assert!(!svg.contains("<veno>"));
    }

    #[test]
    fn a_swap_is_a_line_in_both_panels_and_is_lightened_as_lines_are() {
        let mut charts = charts(100);
        let lines = |charts: &Charts| draw(charts, "x", (0.0, 30.0)).matches("stroke=\"#882255\"").count();
        assert_eq!(lines(&charts), 0);
        let to = "bbr".to_owned();
        charts.flows[0].swaps = vec![crate::charts::SwapMark { at_s: 3.0, to, color: "#882255".to_owned() }];
        assert_eq!(lines(&charts), 3, "one in each panel, and the rule for dark backgrounds");
    }

    #[test]
    fn a_recording_without_rtt_or_of_no_length_is_drawn() {
        let mut charts = charts(1);
        charts.flows[0].rtt = Series::default();
        assert!(draw(&charts, "x", (0.0, 0.0)).contains("</svg>"));
    }
}
