/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * The structs that BPF programs and user space share. Rust mirrors them in crates/abi/src/layout.rs; sizes
 * are asserted on both sides, and crates/abi/tests/layout.rs compares every field. Only fixed-width types, no bool, padding
 * explicit.
 */
#ifndef CCACTL_ABI_H
#define CCACTL_ABI_H

#define CCA_NAME_LEN 16 /* TCP_CA_NAME_MAX of include/net/tcp.h, terminating NUL included */

/* "No bound" in the unsigned fields of struct cca_trace. */
#define CCA_UNBOUNDED_U32 0xffffffffU
#define CCA_UNBOUNDED_U64 0xffffffffffffffffULL

/*
 * Inner state of an algorithm, one per socket, written by the algorithm only while a recorder has created the
 * storage of that socket (map cca_trace_map). A field that the algorithm does not have stays 0, which a recording shows
 * as "no value", like CCA_UNBOUNDED_* in a bound.
 */
struct cca_trace {
	unsigned long long bw_bps;    /* bandwidth estimate, bit/s of payload */
	unsigned long long bw_lo_bps; /* short-term bound, bit/s */
	unsigned long long bw_hi_bps; /* long-term bound, bit/s */
	long long v0;                 /* free values, named by the registry */
	long long v1;
	unsigned int mode;              /* phase, index into the registry's mode names */
	unsigned int min_rtt_us;        /* the algorithm's own propagation-delay estimate */
	unsigned int inflight_lo_pkts;  /* short-term inflight bound */
	unsigned int inflight_hi_pkts;  /* long-term inflight bound */
	unsigned int pacing_gain_milli; /* gain x 1000 */
	unsigned int cwnd_gain_milli;   /* gain x 1000 */
	unsigned int updates;           /* how often the algorithm has published; 0 = never */
	unsigned int publisher;         /* low half of the address of its struct tcp_congestion_ops */
};

/* What a socket offers because a receiving algorithm says so (map offers); times of the receiver's own measuring. */
struct cca_offer {
	unsigned long long cgroup_id; /* whose algorithm it is */
	unsigned int limit_bytes;     /* largest window that may be offered */
	unsigned int rtt_us;          /* smoothed */
	unsigned int min_rtt_us;      /* of the connection */
	unsigned int pad;
};

/* One live socket that a receiving algorithm was brought to, or taken from. */
struct cca_receiver_row {
	unsigned long long flow_id; /* socket cookie */
	unsigned int error;         /* errno, 0 = done */
	unsigned int pad;
};

enum cca_event {
	CCA_EVENT_SAMPLE = 0,
	CCA_EVENT_OPEN = 1,
	CCA_EVENT_CLOSE = 2,     /* carries the final totals */
	CCA_EVENT_RETRANS = 3,   /* a segment was sent again */
	CCA_EVENT_CA_STATE = 4,  /* the congestion state changes */
	CCA_EVENT_ALGORITHM = 5, /* the socket has another algorithm */
	CCA_EVENT_RTO = 6,       /* a segment was sent again because the retransmission timer ran out */
	CCA_EVENT_ECN = 7,       /* the receiver has reported congestion marks */
	CCA_EVENTS,
};

enum cca_sample_flags {
	CCA_FLAG_APP_LIMITED = 1,
	CCA_FLAG_CWND_LIMITED = 2,
	CCA_FLAG_TRACE = 4, /* the trace member is filled */
};

/* What two ends have agreed on in their handshake. */
enum cca_ecn_mode {
	CCA_ECN_OFF = 0,
	CCA_ECN_CLASSIC = 1,  /* RFC 3168: whether anything was marked in a round trip */
	CCA_ECN_ACCURATE = 2, /* RFC 9768: how much */
};

/*
 * One row of a recording. What stands before `trace` is the whole record in the ring unless CCA_FLAG_TRACE is set: most
 * algorithms publish nothing.
 */
struct cca_sample {
	unsigned long long time_ns;                 /* CLOCK_MONOTONIC */
	unsigned long long flow_id;                 /* socket cookie */
	unsigned long long cgroup_id;               /* cgroup2 of the socket */
	unsigned long long pacing_rate_bytes_per_s; /* ~0 = unlimited */
	unsigned long long delivery_interval_us;
	unsigned long long bytes_acked;
	unsigned long long bytes_sent; /* payload, retransmissions included */
	unsigned long long bytes_retrans;
	unsigned long long bytes_received;     /* payload */
	unsigned long long opened_ns;          /* end of the handshake, 0 = before the recording */
	unsigned long long progress_ns;        /* arrival of the last ACK known to have delivered payload, 0 = none */
	unsigned long long rtt_sum_us;         /* over rtt_samples */
	unsigned long long dropped_rows;       /* 0 in the ring; the reader of the ring fills it */
	unsigned long long delivered_ce_bytes; /* payload that the AccECN option has reported as marked */
	unsigned int delivery_pkts;            /* rate_delivered over delivery_interval_us */
	unsigned int netns;                    /* inode number of the network namespace */
	unsigned int cwnd_pkts;
	unsigned int ssthresh_pkts; /* >= 0x7fffffff = infinite */
	unsigned int inflight_pkts; /* packets_out - sacked - lost + retrans (tcp_packets_in_flight) */
	unsigned int snd_wnd_bytes; /* window that the receiver offers */
	unsigned int srtt_us;
	unsigned int rtt_us;     /* latest sample, 0 = none */
	unsigned int min_rtt_us; /* kernel's windowed minimum, ~0 = none */
	unsigned int mss_bytes;
	unsigned int retrans_pkts; /* tp->total_retrans */
	unsigned int rto_count;
	unsigned int lost_pkts; /* tp->lost, cumulative */
	unsigned int delivered_pkts;
	unsigned int delivered_ce_pkts;
	unsigned int rtt_samples;     /* RTT samples since the recorder has known the socket */
	unsigned int rtt_min_us;      /* least RTT in that time, 0 = none */
	unsigned int rcv_wnd_bytes;   /* window that this socket has offered last */
	unsigned int rcv_limit_bytes; /* largest that its receiving algorithm allows, 0 = has none */
	unsigned int rcv_rtt_us;      /* that algorithm's smoothed RTT, 0 = none */
	unsigned int rcv_min_rtt_us;  /* and its least RTT, 0 = none */
	unsigned short sport;         /* host order */
	unsigned short dport;
	unsigned char event;             /* enum cca_event */
	unsigned char family;            /* 4 or 6 */
	unsigned char ca_state;          /* TCP_CA_Open .. TCP_CA_Loss */
	unsigned char flags;             /* enum cca_sample_flags */
	unsigned char previous_ca_state; /* with CCA_EVENT_CA_STATE */
	unsigned char ecn_mode;          /* enum cca_ecn_mode */
	unsigned char pad[2];
	unsigned char saddr[16]; /* IPv4 in the first four bytes */
	unsigned char daddr[16];
	char algorithm[CCA_NAME_LEN];          /* kernel name */
	char previous_algorithm[CCA_NAME_LEN]; /* with CCA_EVENT_ALGORITHM */
	struct cca_trace trace;
};

/* Filter and rate of a recorder; zero means "any". */
struct cca_record_config {
	unsigned long long cgroup_id;   /* this cgroup and its descendants */
	unsigned long long interval_ns; /* with mode CCA_EVERY_INTERVAL */
	unsigned int cgroup_level;      /* depth of cgroup_id, needed for descendants */
	unsigned int netns;
	unsigned int port;            /* local or remote, host order */
	unsigned int every;           /* enum cca_every */
	unsigned int pid;             /* sockets that this process has, opens or accepts */
	unsigned int events;          /* 1 << enum cca_event of those wanted, samples aside; zero is none */
	char algorithm[CCA_NAME_LEN]; /* kernel name */
};

enum cca_every {
	CCA_EVERY_ACK = 0,
	CCA_EVERY_RTT = 1,
	CCA_EVERY_INTERVAL = 2,
};

/* Why a recorder has lost a row. */
enum cca_drop {
	CCA_DROP_RING_FULL_SAMPLES = 0, /* user space did not keep up; the rest of the ring is left to events */
	CCA_DROP_RING_FULL_EVENTS = 1,  /* not even an event found room */
	CCA_DROP_NO_STORAGE = 2,        /* no memory for what a recorder remembers of a socket */
	CCA_DROP_REASONS,
};

/* Index into the per-CPU array of counts: rows submitted by event, rows lost by reason, sockets with a row. */
enum cca_count {
	CCA_COUNT_ROWS = 0,
	CCA_COUNT_DROPS = CCA_COUNT_ROWS + CCA_EVENTS,
	CCA_COUNT_FLOWS = CCA_COUNT_DROPS + CCA_DROP_REASONS,
	CCA_COUNTS,
};

/*
 * Policy of one cgroup: what its sockets are to have. Key: cgroup id. The policies are the desired state; live sockets
 * are brought to it by migrate.bpf.c, new ones by attach.bpf.c.
 */
struct cca_policy {
	char kernel_name[CCA_NAME_LEN]; /* what new sockets get */
	char live_name[CCA_NAME_LEN];   /* MOVING: live ones, if not the same; LEAVING: what all get back, if chosen */
	char canary_name[CCA_NAME_LEN]; /* what a share of the sockets gets; empty = no canary */
	unsigned long long attached_unix_ns;
	unsigned long long canary_unix_ns; /* start of the canary */
	unsigned int level;                /* depth of the cgroup: the nearest policy wins */
	unsigned int flags;                /* enum cca_policy_flags */
	unsigned int canary_share;         /* of CCA_CANARY_ALL */
	unsigned int mended; /* times that apply --watch has put it back; nothing in the kernel reads it */
};

#define CCA_CANARY_ALL 65536

#define CCA_MAX_POLICIES 4096 /* entries of the maps with a cgroup id for their key */

enum cca_policy_flags {
	CCA_POLICY_ECN = 1,        /* kernel_name negotiates ECN */
	CCA_POLICY_CANARY_ECN = 2, /* so does canary_name */
	CCA_POLICY_ENFORCE = 4,    /* overrules what applications choose */
	CCA_POLICY_MOVING = 8,     /* live sockets are being moved; left behind by a killed ccactl otherwise */
	CCA_POLICY_LEAVING = 16,   /* being taken back: live sockets get what they had before */
	CCA_POLICY_LIVE_ECN = 32,  /* live_name negotiates ECN */
	CCA_POLICY_ACCECN = 64,    /* kernel_name needs Accurate ECN; comes with CCA_POLICY_ECN, as its kin below */
	CCA_POLICY_CANARY_ACCECN = 128,
	CCA_POLICY_LIVE_ACCECN = 256,
};

/* Which policy gave a socket its algorithm; inherited by accepted children. */
struct cca_mark {
	unsigned long long cgroup_id;
	char kernel_name[CCA_NAME_LEN]; /* what the socket had after our choice */
	char original[CCA_NAME_LEN];    /* what it had before the first of our choices */
};

enum cca_migrate_flags {
	CCA_MIGRATE_MOVE = 1,       /* set what differs; without it only report */
	CCA_MIGRATE_ANY_CGROUP = 2, /* every socket with a policy, a mark or an algorithm in BPF */
};

/* What one pass over the sockets of a network namespace is to do. */
struct cca_migrate_config {
	unsigned long long cgroup_id;
	unsigned int cgroup_level;
	unsigned int flags; /* enum cca_migrate_flags */
};

/* What became of a socket; the order is that of the ABI. */
enum cca_move_result {
	CCA_MOVE_UNCLAIMED = 0,   /* no policy wants anything of it */
	CCA_MOVE_THERE = 1,       /* has what it is to have */
	CCA_MOVE_MOVED = 2,       /* has it now */
	CCA_MOVE_DUE = 3,         /* differs; not moved because only a report was wanted */
	CCA_MOVE_APPLICATION = 4, /* has what its application chose */
	CCA_MOVE_LOCKED = 5,      /* its route fixes the algorithm */
	CCA_MOVE_REFUSED = 6,     /* the algorithm does not serve this socket: it needs ECN */
	CCA_MOVE_FAILED = 7,      /* the kernel refused, see error */
};

enum cca_socket_flags {
	CCA_SOCKET_MARKED = 1, /* ccactl chose its algorithm */
	CCA_SOCKET_CANARY = 2, /* belongs to the share of a canary */
};

/* One socket as a pass has left it. */
struct cca_socket {
	unsigned long long flow_id;                 /* socket cookie */
	unsigned long long cgroup_id;               /* cgroup2 of the socket */
	unsigned long long policy_id;               /* cgroup whose policy decides, 0 = none */
	unsigned long long pacing_rate_bytes_per_s; /* ~0 = unlimited */
	unsigned int netns;                         /* inode number of the network namespace */
	int error;                                  /* errno of a failed move, positive */
	unsigned int cwnd_pkts;
	unsigned int ssthresh_pkts;
	unsigned int table_id; /* struct_ops map of the algorithm it has now, 0 = not in BPF */
	unsigned short sport;  /* host order */
	unsigned short dport;
	unsigned char result;    /* enum cca_move_result */
	unsigned char tcp_state; /* TCP_ESTABLISHED .. */
	unsigned char family;    /* 4 or 6 */
	unsigned char flags;     /* enum cca_socket_flags */
	unsigned char saddr[16]; /* IPv4 in the first four bytes */
	unsigned char daddr[16];
	char before[CCA_NAME_LEN];
	char after[CCA_NAME_LEN];
	char wanted[CCA_NAME_LEN]; /* empty with UNCLAIMED */
	unsigned int pad;
};

/* Where a socket of a network namespace can be taken from, to get at that namespace. */
struct cca_socket_holder {
	unsigned int netns; /* inode number */
	unsigned int pid;
	unsigned int fd;
	unsigned int pad;
};

#define CCA_MAX_TUNABLES     64
#define CCA_TUNABLE_NAME_LEN 32

struct cca_tunable_value {
	char name[CCA_TUNABLE_NAME_LEN];
	long long raw; /* as stored in .rodata */
};

/* What was loaded under a kernel name; pinned beside the struct_ops link so that a later call can read it back. */
struct cca_loaded {
	char algorithm[CCA_TUNABLE_NAME_LEN]; /* registry name */
	char kernel_name[CCA_NAME_LEN];
	unsigned long long loaded_unix_ns;
	unsigned int struct_ops_map_id;
	unsigned int n_tunables;        /* those set by the user */
	unsigned long long object_hash; /* of the ELF object: the same name and tunables may be other code */
	struct cca_tunable_value tunables[CCA_MAX_TUNABLES];
};

#define CCA_HISTORY_SLOTS 16

/* A former policy of a cgroup, for a rollback; slots of an array, the largest seq is the latest. */
struct cca_past {
	unsigned long long seq; /* from 1; 0 = unused slot */
	unsigned long long replaced_unix_ns;
	unsigned int flags; /* of its policy */
	unsigned int pad;
	struct cca_loaded loaded; /* algorithm empty: a native one; kernel_name empty as well: there was no policy */
};

/* ccactl_host::quantiles::Classes<6>: 3776 classes, rounded up to a power of two, so that a mask bounds them. */
#define CCA_LINK_CLASS_BITS 6
#define CCA_LINK_CLASSES    4096

/* What bpf/link.bpf.c is told. All times of it are of the monotonic clock. */
struct cca_link_config {
	unsigned long long rate_bps;
	unsigned long long limit_bytes;
	unsigned long long limit_packets; /* 0: the limit is in bytes */
	unsigned long long slots;         /* packets that there is memory for, a power of two */
	unsigned long long codel_target_ns;
	unsigned long long codel_interval_ns; /* 0: drop-tail */
	unsigned int codel_mtu_bytes;
	int overhead_bytes; /* of a packet on the wire, beyond the Ethernet frame that the kernel counts */
};

/* Times of packets by class. */
struct cca_link_times {
	unsigned long long counts[CCA_LINK_CLASSES];
	unsigned long long sum_ns;
	unsigned long long max_ns;
};

/* What it has done, and where it is. */
struct cca_link_state {
	/* Numbers of packets: handed out below `out`, taken by the transmitter below `next`, arrived below `tail`. */
	unsigned long long out;
	unsigned long long next;
	unsigned long long tail;
	unsigned long long waiting_bytes;
	unsigned long long end_ns;  /* of the transmission */
	unsigned long long free_ns; /* since when the transmitter is free, or was before this transmission */
	unsigned int sending_bytes; /* 0: the transmitter is free */
	unsigned int back_to_back;  /* the packet in transmission waited for the one before it */

	unsigned int codel_stage;
	unsigned int codel_dropping;
	unsigned int codel_count;
	unsigned int codel_last_count;
	unsigned long long codel_first_above_ns; /* 0: below */
	unsigned long long codel_drop_next_ns;

	unsigned long long offered_packets;
	unsigned long long dropped_full_packets;
	unsigned long long dropped_early_packets;
	unsigned long long
	    without_slot_packets; /* refused though the link had room: the kernel did not ask for those that had left */
	unsigned long long sent_packets;
	unsigned long long sent_bytes;
	unsigned long long busy_bytes; /* sent back to back, and in which time */
	unsigned long long busy_ns;
	unsigned long long queue_max_bytes;
	unsigned long long queue_sum_bytes; /* over arriving packets */
	struct cca_link_times sojourn;      /* from the arrival to the start of the transmission */
	struct cca_link_times lateness;     /* from the end of the transmission until the kernel asked */
};

#ifndef CCA_NO_STATIC_ASSERT
_Static_assert(sizeof(struct cca_trace) == 72, "struct cca_trace");
_Static_assert(sizeof(struct cca_sample) == 344, "struct cca_sample");
_Static_assert(sizeof(struct cca_record_config) == 56, "struct cca_record_config");
_Static_assert(sizeof(struct cca_policy) == 80, "struct cca_policy");
_Static_assert(sizeof(struct cca_mark) == 40, "struct cca_mark");
_Static_assert(sizeof(struct cca_migrate_config) == 16, "struct cca_migrate_config");
_Static_assert(sizeof(struct cca_socket) == 144, "struct cca_socket");
_Static_assert(sizeof(struct cca_socket_holder) == 16, "struct cca_socket_holder");
_Static_assert(sizeof(struct cca_loaded) == 2632, "struct cca_loaded");
_Static_assert(sizeof(struct cca_past) == 2656, "struct cca_past");
_Static_assert(sizeof(struct cca_link_config) == 56, "struct cca_link_config");
_Static_assert(sizeof(struct cca_link_times) == 32784, "struct cca_link_times");
_Static_assert(sizeof(struct cca_link_state) == 65736, "struct cca_link_state");
#endif

#endif /* CCACTL_ABI_H */
