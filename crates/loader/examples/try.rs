use libbpf_rs::ObjectBuilder;
fn main() {
    let name = std::env::args().nth(1).unwrap();
    let mut b = ObjectBuilder::default();
    let mut open = b.open_memory(ccactl_abi::objects::algorithm(&name).unwrap()).unwrap();
    for mut m in open.maps_mut() {
        println!("{:?} {:?}", m.name(), m.initial_value_mut().map(|v| v.len()));
        if m.name() == "cca_trace_map" {
            m.set_pin_path("/sys/fs/bpf/try_trace").unwrap();
        }
    }
    let mut obj = open.load().unwrap();
    for mut m in obj.maps_mut() {
        if m.map_type() == libbpf_rs::MapType::StructOps {
            let l = m.attach_struct_ops().unwrap();
            println!("{}", std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap());
            drop(l);
        }
    }
    std::fs::remove_file("/sys/fs/bpf/try_trace").unwrap();
}
