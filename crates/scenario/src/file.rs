//! A scenario file as a whole: the experiment, the axes of its sweep and what its variants change.

use crate::fields::{AS_PRINTED, DOCUMENT, QUICK};
use crate::matrix::{self, Axis, Cell, Exchanges, Fault};
use crate::reader::{Fields, Source};
use crate::{Override, OverrideError, Scenario, ScenarioError, overrides};
use serde::{Deserialize, Serialize};
use toml::Table;

/// A scenario file: the experiment, the axes of its sweep, and what its variants change.
#[derive(Debug, Clone)]
pub struct ScenarioFile {
    /// The experiment without its axes: what a bench of the scenario alone runs.
    pub scenario: Scenario,
    /// Axes of the sweep, in their order; none for a single experiment.
    pub axes: Vec<Axis>,
    origin: String,
    /// The document with the changes so far, without matrix and variants.
    document: Table,
    cells: Vec<Cell>,
    variants: Vec<Changes>,
    /// Changes of the command line, which go before those of a variant.
    overrides: Vec<Override>,
}

/// Another way to run a scenario, which a table of its file describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// `[quick]`: scaled down.
    Quick,
    /// `[as-printed]`: under the conditions that the figures of the paper were inferred to have.
    AsPrinted,
}

impl Variant {
    const ALL: [Variant; 2] = [Variant::Quick, Variant::AsPrinted];

    /// Name of its table, and of the option of `ccactl bench run` that asks for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Variant::Quick => "quick",
            Variant::AsPrinted => "as-printed",
        }
    }
}

/// What a variant changes.
#[derive(Debug, Clone)]
struct Changes {
    variant: Variant,
    set: Vec<Override>,
    /// What is taken for granted, and the printed figures from which it was inferred.
    assumed: Vec<String>,
    /// Labels that stay, by axis.
    keep: Vec<(String, Vec<String>)>,
    /// By axis, what takes the place of which value.
    instead: Vec<(String, Exchanges)>,
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
    /// names are relative to its folder. Everything is checked, every cell and every variant too.
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
        let mut document: Table = text.parse().expect("parsed before");
        document.remove("matrix");
        let mut variants = Vec::new();
        for variant in Variant::ALL {
            document.remove(variant.name());
            if let Some(table) = fields.optional_table(variant.name())? {
                variants.push(changes(variant, table, &axes, &source)?);
            }
        }
        for of in &variants {
            let shadowed = of.set.iter().find(|change| axes.iter().any(|axis| matrix::sets(axis, change, &document)));
            if let Some(change) = shadowed {
                let message =
                    format!("expected a field that no axis sets, found {}: choose its points with keep", change.field);
                return Err(source.error(of.offset, &format!("{}.set", of.variant.name()), message));
            }
        }
        let told = |fault: Fault| source.error(fault.offset, &fault.field, fault.message);
        matrix::check_fields(&axes, &document).map_err(told)?;
        let cells = matrix::cells(origin, &document, &axes).map_err(told)?;
        let (origin, overrides_so_far) = (origin.to_owned(), Vec::new());
        let file = ScenarioFile { scenario, axes, origin, document, cells, variants, overrides: overrides_so_far };
        for variant in Variant::ALL {
            file.variant(variant)?;
        }
        if overrides.is_empty() { Ok(file) } else { file.with(overrides) }
    }

    /// The experiments: the cross product of the axes, the last one changing fastest, or the scenario alone.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The experiment without its axes, with changes of the command line: of fields that an axis sets as well.
    ///
    /// # Errors
    /// [`ScenarioError`] with the field.
    pub fn alone(self, changes: &[Override]) -> Result<Scenario, ScenarioError> {
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
        Ok(ScenarioFile { scenario, document, cells, overrides, axes: self.axes, variants: self.variants, origin })
    }

    /// What the table of a variant describes, none when the file has no such table. Changes of the command line stay.
    ///
    /// # Errors
    /// [`ScenarioError`] when the changes of the command line do not fit the variant.
    pub fn variant(&self, variant: Variant) -> Result<Option<ScenarioFile>, ScenarioError> {
        let Some(changes) = self.changes(variant) else { return Ok(None) };
        let set = format!("{}.set", variant.name());
        let fault = |field: &str, message: String| ScenarioError::Field {
            origin: self.origin.clone(),
            line: changes.line,
            field: set.clone(),
            message: if field.is_empty() { message } else { format!("{field}: {message}") },
        };
        let axes: Vec<Axis> = self.axes.iter().map(|axis| changes.of_axis(axis)).collect();
        let mut document = self.document.clone();
        overrides::apply(&mut document, changes.set.iter().chain(&self.overrides))
            .map_err(|error| fault("", error.to_string()))?;
        let scenario =
            overrides::parse_changed(&self.origin, &document).map_err(|(field, message)| fault(&field, message))?;
        let cells = matrix::cells(&self.origin, &document, &axes).map_err(|f| fault(&f.field, f.message))?;
        Ok(Some(ScenarioFile {
            scenario,
            axes,
            document,
            cells,
            variants: Vec::new(),
            origin: self.origin.clone(),
            overrides: self.overrides.clone(),
        }))
    }

    /// What a variant changes, in words, one line each; empty when the file has none.
    #[must_use]
    pub fn told_changes(&self, variant: Variant) -> Vec<String> {
        let Some(changes) = self.changes(variant) else { return Vec::new() };
        // What the command line sets as well is told as the command line's.
        let is_kept = |change: &&Override| self.overrides.iter().all(|over| over.field != change.field);
        let set = changes.set.iter().filter(is_kept).map(|change| {
            let before = crate::field_path::value_at(&self.document, &change.field);
            let before = before.map_or_else(|| "the default".to_owned(), ToString::to_string);
            format!("{} = {} in place of {before}", change.field, change.value)
        });
        let keep = changes.keep.iter().filter_map(|(name, labels)| {
            let axis = self.axes.iter().find(|axis| axis.name == *name)?;
            let all: Vec<&str> = axis.labels().collect();
            Some(format!("{name}: {} of {}", labels.join(", "), all.join(", ")))
        });
        let instead = changes.instead.iter().flat_map(|(name, exchanges)| {
            exchanges.iter().map(move |(old, new)| format!("{name}: {} in place of {old}", matrix::text(new)))
        });
        let assumed = changes.assumed.iter().map(|sentence| format!("assumed: {sentence}"));
        set.chain(keep).chain(instead).chain(assumed).collect()
    }

    fn changes(&self, variant: Variant) -> Option<&Changes> {
        self.variants.iter().find(|changes| changes.variant == variant)
    }
}

impl Changes {
    /// The axis with the points that stay, in the axis' own order, and what they set here.
    fn of_axis(&self, axis: &Axis) -> Axis {
        let mut axis = axis.clone();
        if let Some((_, exchanges)) = self.instead.iter().find(|(name, _)| *name == axis.name) {
            axis.exchange(exchanges);
        }
        if let Some((_, labels)) = self.keep.iter().find(|(name, _)| *name == axis.name) {
            axis.points.retain(|point| labels.contains(&point.label));
        }
        axis
    }
}

fn changes(
    variant: Variant,
    fields: Fields<'_, '_>,
    axes: &[Axis],
    source: &Source<'_>,
) -> Result<Changes, ScenarioError> {
    let fields = fields.only(match variant {
        Variant::Quick => &QUICK,
        Variant::AsPrinted => &AS_PRINTED,
    })?;
    let assumed = match variant {
        Variant::Quick => Vec::new(),
        Variant::AsPrinted => fields.required("assumed")?,
    };
    let instead = match variant {
        Variant::Quick => Vec::new(),
        Variant::AsPrinted => matrix::exchanges(&fields, axes)?,
    };
    let keep = matrix::labels(&fields, "keep")?;
    for (name, labels) in &keep {
        let axis = matrix::named(axes, name).map_err(|message| fields.error("keep", message))?;
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
    Ok(Changes { variant, set, assumed, keep, instead, offset, line: source.line(offset) })
}
