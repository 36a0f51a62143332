//! The structs of `bpf/include/ccactl_abi.h` as clang lays them out, against their mirrors in `layout.rs`: name, offset and
//! size of every field. Two fields of one size that change places leave the size of their struct as it is.

use std::fs;
use std::mem::offset_of;
use std::path::Path;

use ccactl_abi::compile;
use ccactl_abi::layout::{
    Loaded, Mark, MigrateConfig, Offer, Past, Policy, ReceiverRow, RecordConfig, Sample, Socket, SocketHolder, Trace,
    TunableValue,
};
use ccactl_abi::link_queue::{LinkConfig, LinkState, LinkTimes};
use libbpf_rs::AsRawLibbpf as _;
use libbpf_rs::btf::types::{MemberAttr, Struct};
use libbpf_rs::btf::{Btf, HasSize as _, TypeId};

/// A field: name, offset and size in bytes.
type Field = (String, usize, usize);

/// A struct of the header: name, size in bytes, fields in their order.
#[derive(Debug, PartialEq)]
struct Shape {
    name: String,
    size: usize,
    fields: Vec<Field>,
}

const fn size_of_field<T, F>(_: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// Shapes of the mirrors. A field that is left out does not compile: the pattern has to name all of them.
macro_rules! mirrors {
    ($($c_name:literal $mirror:ident { $($field:ident)* })*) => {
        vec![$({
            let _: fn($mirror) = |$mirror { $($field: _),* }| ();
            let fields = vec![$((
                stringify!($field).to_owned(),
                offset_of!($mirror, $field),
                size_of_field(|of: &$mirror| &of.$field),
            )),*];
            Shape { name: $c_name.to_owned(), size: size_of::<$mirror>(), fields }
        }),*]
    };
}

#[rustfmt::skip]
fn mirrors() -> Vec<Shape> {
    mirrors! {
        "cca_trace" Trace {
            bw_bps bw_lo_bps bw_hi_bps v0 v1 mode min_rtt_us inflight_lo_pkts inflight_hi_pkts pacing_gain_milli
            cwnd_gain_milli updates publisher
        }
        "cca_offer" Offer { cgroup_id limit_bytes rtt_us min_rtt_us pad }
        "cca_receiver_row" ReceiverRow { flow_id error pad }
        "cca_sample" Sample {
            time_ns flow_id cgroup_id pacing_rate_bytes_per_s delivery_interval_us bytes_acked bytes_sent bytes_retrans
            bytes_received opened_ns progress_ns rtt_sum_us dropped_rows delivered_ce_bytes delivery_pkts netns cwnd_pkts ssthresh_pkts
            inflight_pkts snd_wnd_bytes srtt_us rtt_us min_rtt_us mss_bytes retrans_pkts rto_count lost_pkts
            delivered_pkts delivered_ce_pkts rtt_samples rtt_min_us rcv_wnd_bytes
            rcv_limit_bytes rcv_rtt_us rcv_min_rtt_us sport dport event family ca_state flags
            previous_ca_state ecn_mode pad saddr daddr algorithm previous_algorithm trace
        }
        "cca_record_config" RecordConfig {
            cgroup_id interval_ns cgroup_level netns port every pid events algorithm
        }
        "cca_policy" Policy {
            kernel_name live_name canary_name attached_unix_ns canary_unix_ns level flags canary_share mended
        }
        "cca_mark" Mark { cgroup_id kernel_name original }
        "cca_migrate_config" MigrateConfig { cgroup_id cgroup_level flags }
        "cca_socket" Socket {
            flow_id cgroup_id policy_id pacing_rate_bytes_per_s netns error cwnd_pkts ssthresh_pkts table_id sport dport
            result tcp_state family flags saddr daddr before after wanted pad
        }
        "cca_socket_holder" SocketHolder { netns pid fd pad }
        "cca_tunable_value" TunableValue { name raw }
        "cca_loaded" Loaded {
            algorithm kernel_name loaded_unix_ns struct_ops_map_id n_tunables object_hash tunables
        }
        "cca_past" Past { seq replaced_unix_ns flags pad loaded }
        "cca_link_config" LinkConfig {
            rate_bps limit_bytes limit_packets slots codel_target_ns codel_interval_ns codel_mtu_bytes overhead_bytes
        }
        "cca_link_times" LinkTimes { counts sum_ns max_ns }
        "cca_link_state" LinkState {
            out next tail waiting_bytes end_ns free_ns sending_bytes back_to_back codel_stage codel_dropping codel_count
            codel_last_count codel_first_above_ns codel_drop_next_ns offered_packets dropped_full_packets
            dropped_early_packets without_slot_packets sent_packets sent_bytes busy_bytes busy_ns queue_max_bytes
            queue_sum_bytes sojourn lateness
        }
    }
}

/// Names of the structs that the header declares.
fn structs_of(header: &str) -> Vec<&str> {
    header.lines().filter_map(|line| line.strip_prefix("struct ")?.strip_suffix(" {")).collect()
}

/// An object in which there is a variable of each struct: clang describes no type that nothing uses, and of the embedded
/// objects none uses them all.
fn object_with(structs: &[&str], include: &Path) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, object) = (folder.join("layout.bpf.c"), folder.join("layout.bpf.o"));
    let variables = structs.iter().map(|name| format!("struct {name} a_{name};\n"));
    fs::write(&source, format!("#include \"ccactl_abi.h\"\n{}", variables.collect::<String>())).unwrap();
    let said = compile::run_clang(&["-Werror", "-c"], &source, &[include], &object).expect("clang can be run");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    fs::read(object).unwrap()
}

fn shape(btf: &Btf<'_>, name: &str) -> Shape {
    let of: Struct<'_> = btf.type_by_name(name).unwrap_or_else(|| panic!("BTF describes struct {name}"));
    let field = |member: libbpf_rs::btf::types::StructMember<'_>| {
        let MemberAttr::Normal { offset } = member.attr else { panic!("struct {name} has no bit fields") };
        let field = member.name.expect("a field has a name").to_string_lossy().into_owned();
        (field, offset as usize / 8, size_of_type(btf, member.ty))
    };
    Shape { name: name.to_owned(), size: of.size(), fields: of.iter().map(field).collect() }
}

fn size_of_type(btf: &Btf<'_>, id: TypeId) -> usize {
    // SAFETY: the type information lives as long as `btf`, and libbpf checks the number.
    let size = unsafe { libbpf_sys::btf__resolve_size(btf.as_libbpf_object().as_ptr(), u32::from(id)) };
    usize::try_from(size).expect("the type of a field has a size")
}

#[test]
fn both_sides_lay_out_every_field_alike() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf/include");
    let header = fs::read_to_string(include.join("ccactl_abi.h")).unwrap();
    let structs = structs_of(&header);
    let object = object_with(&structs, &include);
    let btf = Btf::from_raw("layout", &object).expect("BTF can be read").expect("the object has BTF");
    let mirrors = mirrors();
    let mirrored: Vec<&str> = mirrors.iter().map(|mirror| mirror.name.as_str()).collect();
    assert_eq!(structs, mirrored, "the structs of ccactl_abi.h and those of layout.rs");
    for mirror in mirrors {
        let there = shape(&btf, &mirror.name);
        for (ours, theirs) in mirror.fields.iter().zip(&there.fields) {
            assert_eq!(ours, theirs, "struct {}: layout.rs, then ccactl_abi.h: field, offset, size", mirror.name);
        }
        assert_eq!(mirror, there);
    }
}
