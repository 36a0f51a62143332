//! A scenario file as a whole: the experiment, the axes of its sweep and what a quick run changes.

use crate::fields::{DOCUMENT, QUICK};
use crate::matrix::{self, Axis, Cell, Fault};
use crate::reader::{Fields, Source};
use crate::{Override, OverrideError, Scenario, ScenarioError, overrides};
use toml::Table;

/// A scenario file: the experiment, the axes of its sweep, and what a quick run changes.
#[derive(Debug, Clone)]
pub struct ScenarioFile {
    /// The experiment without its axes: what a bench of the scenario alone runs.
    pub scenario: Scenario,
    /// Axes of the sweep, in their order; none for a single experiment.
    pub axes: Vec<Axis>,
    origin: String,
    /// The document with the changes so far, without matrix and quick run.
    document: Table,
    cells: Vec<Cell>,
    quick: Option<Quick>,
    /// Changes of the command line, which go before those of a quick run.
    overrides: Vec<Override>,
}

/// `[quick]`
#[derive(Debug, Clone)]
struct Quick {
    set: Vec<Override>,
    /// Labels that stay, by axis.
    keep: Vec<(String, Vec<String>)>,
    line: usize,
    /// Where its changes stand in the document, bytes.
    offset: usize,
}

impl ScenarioFile {
    /// Reads a scenario file, or else the shipped scenario of that name, and applies changes.
    ///
    /// # Errors
    /// [`ScenarioError`] with file, line and field.
    pub fn open(name_or_path: &str, overrides: &[Override]) -> Result<ScenarioFile, ScenarioError> {
        let (origin, text) = crate::read(name_or_path)?;
        ScenarioFile::parse(&origin, &text, overrides)
    }

    /// Parses a scenario file and applies changes; `origin` is the file name that errors show, and files that the scenario
    /// names are relative to its folder. Everything is checked, every cell and the quick run too.
    ///
    /// # Errors
    /// [`ScenarioError`] with file, line and field.
    pub fn parse(origin: &str, text: &str, overrides: &[Override]) -> Result<ScenarioFile, ScenarioError> {
        let source = Source { origin, text };
        let spanned = source.parse()?;
        let fields = Fields::new(&source, &spanned).only(&DOCUMENT)?;
        // The unchanged file is checked first: only then do line numbers mean something to its author.
        let scenario = crate::parse::scenario(&source, &spanned)?;
        let axes = matrix::axes(fields.optional_tables("matrix")?)?;
        let quick = fields.optional_table("quick")?.map(|table| quick(table, &axes, &source)).transpose()?;
        let mut document: Table = text.parse().expect("parsed before");
        for sweep in ["matrix", "quick"] {
            document.remove(sweep);
        }
        if let Some(quick) = &quick {
            let shadowed =
                quick.set.iter().find(|change| axes.iter().any(|axis| matrix::sets(axis, change, &document)));
            if let Some(change) = shadowed {
                let message =
                    format!("expected a field that no axis sets, found {}: choose its points with keep", change.field);
                return Err(source.error(quick.offset, "quick.set", message));
            }
        }
        let told = |fault: Fault| source.error(fault.offset, &fault.field, fault.message);
        matrix::check_fields(&axes, &document).map_err(told)?;
        let cells = matrix::cells(origin, &document, &axes).map_err(told)?;
        let file =
            ScenarioFile { scenario, axes, origin: origin.to_owned(), document, cells, quick, overrides: Vec::new() };
        file.quick()?;
        if overrides.is_empty() { Ok(file) } else { file.with(overrides) }
    }

    /// The experiments: the cross product of the axes, the last one changing fastest, or the scenario alone.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The experiment without its axes, with changes of the command line: of fields that an axis sets as well.
    pub(crate) fn alone(self, changes: &[Override]) -> Result<Scenario, ScenarioError> {
        if changes.is_empty() {
            return Ok(self.scenario);
        }
        overrides::parse_with(&self.origin, self.document, changes)
    }

    fn with(self, changes: &[Override]) -> Result<ScenarioFile, ScenarioError> {
        for change in changes {
            if let Some(axis) = self.axes.iter().find(|axis| matrix::sets(axis, change, &self.document)) {
                let (field, axis) = (change.field.clone(), axis.name.clone());
                return Err(OverrideError::SetByAxis { field, axis }.into());
            }
        }
        let mut document = self.document;
        overrides::apply(&mut document, changes)?;
        let origin = self.origin;
        let told = |field: String, message: String| OverrideError::Result { origin: origin.clone(), field, message };
        let scenario = overrides::parse_changed(&origin, &document).map_err(|(field, message)| told(field, message))?;
        let cells = matrix::cells(&origin, &document, &self.axes).map_err(|fault| told(fault.field, fault.message))?;
        let overrides = changes.to_vec();
        Ok(ScenarioFile { scenario, document, cells, overrides, axes: self.axes, quick: self.quick, origin })
    }

    /// The scaled version that `[quick]` describes, none when the file has no such table. Changes of the command line stay.
    ///
    /// # Errors
    /// [`ScenarioError`] when the changes of the command line do not fit the scaled version.
    pub fn quick(&self) -> Result<Option<ScenarioFile>, ScenarioError> {
        let Some(quick) = &self.quick else { return Ok(None) };
        let fault = |field: &str, message: String| ScenarioError::Field {
            origin: self.origin.clone(),
            line: quick.line,
            field: "quick.set".to_owned(),
            message: if field.is_empty() { message } else { format!("{field}: {message}") },
        };
        let axes: Vec<Axis> = self.axes.iter().map(|axis| quick.keep_of(axis)).collect();
        let mut document = self.document.clone();
        overrides::apply(&mut document, quick.set.iter().chain(&self.overrides))
            .map_err(|error| fault("", error.to_string()))?;
        let scenario =
            overrides::parse_changed(&self.origin, &document).map_err(|(field, message)| fault(&field, message))?;
        let cells = matrix::cells(&self.origin, &document, &axes).map_err(|f| fault(&f.field, f.message))?;
        Ok(Some(ScenarioFile {
            scenario,
            axes,
            document,
            cells,
            quick: None,
            origin: self.origin.clone(),
            overrides: self.overrides.clone(),
        }))
    }

    /// What the quick version changes, in words, one line each; empty when the file has none.
    #[must_use]
    pub fn quick_changes(&self) -> Vec<String> {
        let Some(quick) = &self.quick else { return Vec::new() };
        let set = quick.set.iter().map(|change| {
            let before = crate::field_path::value_at(&self.document, &change.field);
            let before = before.map_or_else(|| "the default".to_owned(), ToString::to_string);
            format!("{} = {} in place of {before}", change.field, change.value)
        });
        let keep = quick.keep.iter().filter_map(|(name, labels)| {
            let axis = self.axes.iter().find(|axis| axis.name == *name)?;
            let all: Vec<&str> = axis.labels().collect();
            Some(format!("{name}: {} of {}", labels.join(", "), all.join(", ")))
        });
        set.chain(keep).collect()
    }
}

impl Quick {
    /// The axis with the points that stay, in the axis' own order.
    fn keep_of(&self, axis: &Axis) -> Axis {
        let mut axis = axis.clone();
        if let Some((_, labels)) = self.keep.iter().find(|(name, _)| *name == axis.name) {
            axis.points.retain(|point| labels.contains(&point.label));
        }
        axis
    }
}

fn quick(fields: Fields<'_, '_>, axes: &[Axis], source: &Source<'_>) -> Result<Quick, ScenarioError> {
    let fields = fields.only(&QUICK)?;
    let keep = matrix::labels(&fields, "keep")?;
    for (name, labels) in &keep {
        let Some(axis) = axes.iter().find(|axis| axis.name == *name) else {
            let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
            let message = format!("expected an axis of the matrix ({}), found {name:?}", names.join(", "));
            return Err(fields.error("keep", message));
        };
        let all: Vec<&str> = axis.labels().collect();
        let expected = format!("expected points of the axis {name:?} ({})", all.join(", "));
        if labels.is_empty() {
            return Err(fields.error("keep", format!("{expected}, found none")));
        }
        if let Some(unknown) = labels.iter().find(|label| !all.contains(&label.as_str())) {
            return Err(fields.error("keep", format!("{expected}, found {unknown:?}")));
        }
    }
    let set = matrix::changes(&fields, "set")?;
    let offset = fields.offset_of("set");
    Ok(Quick { set, keep, offset, line: source.line(offset) })
}
