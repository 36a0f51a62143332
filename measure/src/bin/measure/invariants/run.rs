//! One bench as the rows see it: its result and the columns of its recording.

use super::compute::SETTLED_S;
use crate::figures;
use crate::tables::result;
use ccactl_abi::Algorithm;
use ccactl_report::Recording;
use polars::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The first valid run of a bench.
pub struct Run {
    algorithm: &'static Algorithm,
    facts: Value,
    recording: PathBuf,
    scenario: PathBuf,
}

/// The samples of one flow in the order of time.
pub struct Flow {
    algorithm: &'static Algorithm,
    rows: DataFrame,
    /// Seconds since the start of the recording.
    pub t_s: Vec<f64>,
}

impl Run {
    /// Fails when there is no valid run.
    pub fn open(dir: &Path, label: &str, algorithm: &'static Algorithm) -> Result<Run, String> {
        let facts = result(dir, label)?.ok_or("not run")?;
        let recording = figures::recording(dir, label)?.ok_or("no valid run")?;
        let runs = facts["runs"].as_array().cloned().unwrap_or_default();
        let facts = runs.into_iter().find(|run| run["valid"] == true).ok_or("no valid run")?;
        Ok(Run { algorithm, facts, recording, scenario: dir.join(label).join("scenario.toml") })
    }

    /// A number of the run in `result.json`.
    pub fn number(&self, pointer: &str) -> Result<f64, String> {
        let value = self.facts.pointer(pointer).and_then(Value::as_f64);
        value.ok_or_else(|| format!("result.json has no {pointer}"))
    }

    /// The scenario with every default and change written out.
    pub fn scenario(&self) -> Result<toml::Table, String> {
        let at = |e: &dyn std::fmt::Display| format!("{}: {e}", self.scenario.display());
        let text = std::fs::read_to_string(&self.scenario).map_err(|e| at(&e))?;
        text.parse().map_err(|e: toml::de::Error| at(&e))
    }

    /// Packets per second that the bottleneck can carry, full ones.
    pub fn packets_per_s(&self) -> Result<f64, String> {
        /// MTU and Ethernet header, as every scenario used here has them.
        const FRAME_BITS: f64 = 1514.0 * 8.0;
        Ok(self.number("/link/rate_bps")? / FRAME_BITS)
    }

    /// The samples of the algorithm under test.
    pub fn flow(&self) -> Result<Flow, String> {
        self.flow_of(self.algorithm.name)
    }

    /// The samples of the flow of that name.
    pub fn flow_of(&self, name: &str) -> Result<Flow, String> {
        let recording = Recording::open(&self.recording).map_err(|e| e.to_string())?;
        let flow = recording.metadata().flows.iter().flatten().find(|flow| flow.name == name);
        let cgroup_id = flow.ok_or_else(|| format!("the recording has no flow {name}"))?.cgroup_id;
        self.rows(cgroup_id).map_err(|e| format!("{}: {e}", self.recording.display()))
    }

    fn rows(&self, cgroup_id: u64) -> PolarsResult<Flow> {
        let of_flow = col("cgroup_id").eq(lit(cgroup_id)).and(col("event").eq(lit("sample")));
        let rows = ParquetReader::new(std::fs::File::open(&self.recording)?)
            .finish()?
            .lazy()
            .filter(of_flow.and(col("bytes_sent").gt(lit(0))))
            .sort(["t_us"], SortMultipleOptions::default().with_maintain_order(true))
            .collect()?;
        let flow = Flow { algorithm: self.algorithm, rows, t_s: Vec::new() };
        let t_s = flow.floats("t_us")?.into_iter().map(|us| us / 1e6).collect();
        Ok(Flow { t_s, ..flow })
    }
}

impl Flow {
    /// A column of `docs/schema.md`, or a value of the trace by the name that the registry gives it. Null is NaN.
    pub fn column(&self, name: &str) -> Result<Vec<f64>, String> {
        let named = |value: Option<ccactl_abi::TraceValue>| value.is_some_and(|value| value.name == name);
        let column = match name {
            _ if named(self.algorithm.v0) => "trace_v0",
            _ if named(self.algorithm.v1) => "trace_v1",
            _ => name,
        };
        self.floats(column).map_err(|e| format!("column {name}: {e}"))
    }

    /// A column, from when slow start is over.
    pub fn settled(&self, name: &str) -> Result<Vec<f64>, String> {
        let first = self.t_s.partition_point(|t_s| *t_s < SETTLED_S);
        Ok(self.column(name)?.split_off(first))
    }

    /// A column of text; null is empty.
    pub fn text(&self, name: &str) -> Result<Vec<String>, String> {
        let read = || -> PolarsResult<Vec<String>> {
            let column = self.rows.column(name)?.cast(&DataType::String)?;
            Ok(column.str()?.iter().map(|text| text.unwrap_or("").to_owned()).collect())
        };
        read().map_err(|e| format!("column {name}: {e}"))
    }

    fn floats(&self, name: &str) -> PolarsResult<Vec<f64>> {
        let column = self.rows.column(name)?.cast(&DataType::Float64)?;
        Ok(column.f64()?.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    }
}
