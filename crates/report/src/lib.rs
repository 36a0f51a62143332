//! From recordings to metrics, tables and the HTML page.
//!
//! A [`Recording`] is one file (Parquet or Arrow IPC stream) with the columns of `docs/schema.md`. [`summarize`]
//! turns recordings into a [`Summary`]; [`render`] prints it, [`html`] makes one self-contained page of it, [`figure`] a still
//! figure. What each
//! figure means, and how it is weighted, is in `docs/metrics.md`.
//!
//! Rows are decoded in batches by Polars' Parquet reader and walked over flow by flow (`walk`), once for the summary and
//! once for the [`charts`], of which pages and figures are drawn. Nothing is kept of a batch but the last row of each flow, so memory does not grow with the length
//! of a recording.

mod charts;
pub mod compare;
mod error;
pub mod figure;
pub mod html;
mod labels;
mod measure;
mod metric;
mod open;
mod options;
pub mod output;
mod pairing;
mod partial;
pub mod render;
mod repeats;
mod scale;
pub mod stats;
mod summarize;
mod summary;
mod tables;
pub mod trail;
mod walk;

pub use ccactl_recording::read::left_out;
pub use ccactl_recording::read::{self, DropReasons, Extent, Metadata, Recording};
pub use charts::{Charts, FlowCharts, Series, charts};
pub use compare::{Comparison, Difference, compare};
pub use error::Error;
pub use open::open_all;
pub use options::Options;
pub use pairing::By;
pub use partial::{Partial, is_summary};
pub use repeats::estimate;
pub use summarize::summarize;
pub use summary::{
    AlgorithmChange, AlgorithmSummary, ChangeSide, Closed, Connections, Convergence, Distribution, DropSpan, Estimate,
    Fairness, FlowSummary, InnerValue, JainPoint, LinkSummary, Measures, PhaseShare, ReceiverSummary, RecordingSummary,
    RepeatedAlgorithm, Repeats, Side, SocketState, Summary, Trigger,
};
