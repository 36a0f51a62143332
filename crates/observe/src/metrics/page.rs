//! Metric families, and their text.

use crate::metrics::histogram::{Bounds, Histogram};
use prometheus::TextEncoder;
use prometheus::proto::{Bucket, Counter, Gauge, Histogram as Shown, LabelPair, Metric, MetricFamily, MetricType};

/// What `Content-Type` says.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Names and values of labels.
pub(crate) type Pairs = Vec<LabelPair>;

/// The families of one scrape, in the order in which they were put in.
#[derive(Default)]
pub(crate) struct Page {
    families: Vec<MetricFamily>,
}

impl Page {
    /// A family of counters; without a sample it is left out.
    pub(crate) fn counter(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (Pairs, f64)>) {
        let metrics = samples.into_iter().map(|(pairs, value)| {
            let mut counter = Counter::default();
            counter.set_value(value);
            let mut metric = Metric::from_label(pairs);
            metric.set_counter(counter);
            metric
        });
        self.put(name, help, MetricType::COUNTER, metrics.collect());
    }

    /// A family of gauges; without a sample it is left out.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (Pairs, f64)>) {
        let metrics = samples.into_iter().map(|(pairs, value)| {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            let mut metric = Metric::from_label(pairs);
            metric.set_gauge(gauge);
            metric
        });
        self.put(name, help, MetricType::GAUGE, metrics.collect());
    }

    /// A family of histograms; without a sample it is left out.
    pub(crate) fn histogram<'a>(
        &mut self,
        name: &str,
        help: &str,
        bounds: &Bounds,
        samples: impl IntoIterator<Item = (Pairs, &'a Histogram)>,
    ) {
        let metrics = samples.into_iter().map(|(pairs, histogram)| {
            let mut metric = Metric::from_label(pairs);
            metric.set_histogram(shown(bounds, histogram));
            metric
        });
        self.put(name, help, MetricType::HISTOGRAM, metrics.collect());
    }

    /// The text format, version 0.0.4.
    pub(crate) fn text(&self) -> String {
        TextEncoder::new().encode_to_string(&self.families).expect("every family has a name and a sample")
    }

    fn put(&mut self, name: &str, help: &str, kind: MetricType, metrics: Vec<Metric>) {
        if metrics.is_empty() {
            return;
        }
        let mut family = MetricFamily::default();
        family.set_name(name.to_owned());
        family.set_help(help.to_owned());
        family.set_field_type(kind);
        family.set_metric(metrics);
        self.families.push(family);
    }
}

/// One label.
pub(crate) fn pair(name: &str, value: impl Into<String>) -> LabelPair {
    let mut pair = LabelPair::default();
    pair.set_name(name.to_owned());
    pair.set_value(value.into());
    pair
}

/// The encoder adds the bucket `+Inf` from the count.
fn shown(bounds: &Bounds, histogram: &Histogram) -> Shown {
    let buckets = bounds.shown().zip(histogram.cumulated()).map(|(bound, count)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound);
        bucket.set_cumulative_count(count);
        bucket
    });
    let mut shown = Shown::default();
    shown.set_bucket(buckets.collect());
    shown.set_sample_count(histogram.count());
    shown.set_sample_sum(bounds.shown_sum(histogram));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_that_of_the_format() {
        let bounds = Bounds::of_counts(&[1, 10]).unwrap();
        let mut histogram = Histogram::new(&bounds);
        for value in [1, 5, 50] {
            histogram.observe(&bounds, value);
        }
        let mut page = Page::default();
        page.counter("a_total", "How \\ often.", [(vec![pair("cgroup", "/x \"y\"\\\n")], 3.0)]);
        page.gauge("nothing", "Has no sample.", []);
        page.histogram("b", "How much.", &bounds, [(vec![], &histogram)]);
        let expected = "# HELP a_total How \\\\ often.\n\
            # TYPE a_total counter\n\
            a_total{cgroup=\"/x \\\"y\\\"\\\\\\n\"} 3\n\
            # HELP b How much.\n\
            # TYPE b histogram\n\
            b_bucket{le=\"1\"} 1\n\
            b_bucket{le=\"10\"} 2\n\
            b_bucket{le=\"+Inf\"} 3\n\
            b_sum 56\n\
            b_count 3\n";
        assert_eq!(page.text(), expected);
    }
}
