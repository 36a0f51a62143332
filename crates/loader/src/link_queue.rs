//! `bpf/link.bpf.c`: a bottleneck as a queue discipline of the kernel, for as long as a value lives.

use crate::error::{Error, Result};
use crate::object;
use crate::paths::Paths;
use crate::preflight;
use ccactl_abi::link_queue::{LinkConfig, LinkState};
use ccactl_abi::objects::LINK;
use libbpf_rs::{Link, MapCore, MapFlags, MapType, Object};

const KEY: [u8; 4] = [0; 4];
/// What messages call the object.
const NAME: &str = "link";

/// A registered discipline: `tc qdisc add dev DEVICE root NAME` puts it at a device, once.
#[derive(Debug)]
pub struct LinkQueue {
    object: Object,
    _link: Link,
}

impl LinkQueue {
    /// Whether this kernel takes queue disciplines from BPF, and this process may give it some.
    ///
    /// # Errors
    /// [`Error::NoBpfQdisc`], [`Error::NoBtf`], [`Error::MissingCapabilities`].
    pub fn check() -> Result<()> {
        preflight::check_qdisc(&Paths::default())
    }

    /// Registers one under a name of at most 15 bytes that the kernel does not have yet. `slots` of the configuration is a power of two.
    ///
    /// # Errors
    /// Those of [`Self::check`], or the kernel's refusal.
    pub fn register(name: &str, config: &LinkConfig) -> Result<Self> {
        Self::check()?;
        let mut object = object::open(NAME, LINK)?;
        object::set_rodata(&mut object, NAME, "slot_mask", config.slots as i64 - 1)?;
        object::set_table_name(&mut object, NAME, object::QDISC, name)?;
        let what = || format!("cannot prepare the queue discipline {name}");
        let mut packets = object.maps_mut().find(|map| map.name() == "packets").expect("link.bpf.c has this map");
        let slots = u32::try_from(config.slots).expect("a link has fewer packets");
        packets.set_max_entries(slots).map_err(Error::bpf(what()))?;
        let mut object = object::finish(object, NAME)?;
        let given = object.maps_mut().find(|map| map.name() == "config").expect("link.bpf.c has this map");
        given.update(&KEY, bytemuck::bytes_of(config), MapFlags::ANY).map_err(Error::bpf(what()))?;
        let mut table = object.maps_mut().find(|map| map.map_type() == MapType::StructOps).expect("and a table");
        let link = table.attach_struct_ops().map_err(Error::bpf(format!("cannot register {name} with the kernel")))?;
        Ok(Self { object, _link: link })
    }

    /// What it has done so far.
    ///
    /// # Errors
    /// When the kernel does not give it.
    pub fn state(&self) -> Result<Box<LinkState>> {
        let what = || "cannot read what the link has counted".to_owned();
        let state = self.object.maps().find(|map| map.name() == "state").expect("link.bpf.c has this map");
        let bytes = state.lookup(&KEY, MapFlags::ANY).map_err(Error::bpf(what()))?;
        let bytes = bytes.expect("an array has all of its entries");
        Ok(Box::new(bytemuck::pod_read_unaligned(&bytes)))
    }
}
