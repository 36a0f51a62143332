//! Which queue disciplines a plan needs of the kernel.

/// A discipline, and for the sake of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// As `tc` and the kernel name it.
    pub kind: &'static str,
    /// Field of the scenario that needs it.
    pub field: &'static str,
    /// Its words for `tc`, as the plan has them.
    pub words: String,
}

impl Need {
    /// Name of the kernel module.
    #[must_use]
    pub fn module(&self) -> &'static str {
        match self.kind {
            "netem" => "sch_netem",
            "tbf" => "sch_tbf",
            "codel" => "sch_codel",
            "fq_codel" => "sch_fq_codel",
            "pie" => "sch_pie",
            // bfifo, pfifo and pfifo_head_drop.
            _ => "sch_fifo",
        }
    }

    /// Option of the kernel's configuration.
    #[must_use]
    pub fn config(&self) -> String {
        let name = self.module().trim_start_matches("sch_").to_uppercase();
        format!("CONFIG_NET_SCH_{name}")
    }
}
