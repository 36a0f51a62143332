/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * The API of cc.bpf.h for the native build: an algorithm file is compiled by the host's C compiler with -DCCA_HOST and
 * -DCCA_UNIT=<symbol>, one object per algorithm, and is driven by crates/native. Clocks, randomness, socket storage and
 * the kernel's own functions are emulated here, deterministically; crates/native/src/layout.rs mirrors the structs.
 */
#ifndef CCACTL_CC_HOST_H
#define CCACTL_CC_HOST_H

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __noinline __attribute__((noinline))
#define __hidden   __attribute__((visibility("hidden")))
#define SEC(name)
#define bpf_printk(format, args...) ((void)0)

#define cc_bitfield(ptr, field) ((ptr)->field)
/* Everything that the host can have is there. */
#define bpf_core_field_exists(field) 1
#define bpf_core_type_exists(type)   1

/* What the native build emulates for one sk_storage map: the value's size; its address is the key. */
struct cc_host_map {
	unsigned long value_size;
};

struct cc_host_storage {
	struct cc_host_storage *next;
	const struct cc_host_map *map;
	u64 value[];
};

/* Likewise for a map that sockets share. Sockets of one thread do; its address and the key's bytes are the key. */
struct cc_host_shared_map {
	unsigned long key_size;
	unsigned long value_size;
};

/* A socket with the world around it. The algorithm sees the first member. */
struct cc_host_sock {
	struct tcp_sock tp;
	u64 jiffies;
	u64 ktime_ns;
	u64 random_state;
	struct cc_host_storage *storage;
	struct cca_trace trace;
	u32 hz;
	u8 recording;         /* cc_trace() finds the trace */
	u8 storage_fails;     /* cc_storage_create() finds no memory */
	u8 app_limited_fixed; /* cc_set_app_limited() is refused, as before Linux 6.4 */
	u8 pad;
	u32 acks_sent;   /* cc_send_ack() */
	u32 ack_rcv_nxt; /* what the last of them acknowledged */
	u32 mptcp_token; /* of the connection that the socket is a subflow of; 0 = none */
};

struct cc_host_tunable {
	const char *name;
	u32 size;
	u32 is_signed;
	long long value;        /* default */
	void *(*address)(void); /* of this thread's copy */
	struct cc_host_tunable *next;
};

/* Where a callback stands in its file. */
struct cc_host_place {
	const char *name;
	const void *function;
	const char *file;
	unsigned long line;
};

/* What one algorithm file exports. The functions are those of the cc_host.c that it is linked with. */
struct cc_host_unit {
	const struct tcp_congestion_ops *ops;
	struct cc_host_tunable *const *tunables;
	void (*guard)(struct cc_host_sock *hs);
	void (*enter)(struct cc_host_sock *hs);
	void (*storage_free)(struct cc_host_sock *hs);
	/* Of all callbacks, from and to; both NULL without CCA_PLACES. */
	const struct cc_host_place *places;
	const struct cc_host_place *places_end;
};

/* The socket whose callback runs in this thread: the source of cc_jiffies() and the like, which name no socket. */
extern __thread struct cc_host_sock *cc_host_current;

void cc_host_guard(struct cc_host_sock *hs);
void cc_host_enter(struct cc_host_sock *hs);
void *cc_host_storage_get(const struct cc_host_map *map, struct sock *sk, int create);
void cc_host_storage_delete(const struct cc_host_map *map, struct sock *sk);
void cc_host_storage_free(struct cc_host_sock *hs);
void *cc_host_shared_get(const struct cc_host_shared_map *map, const void *key);
long cc_host_shared_add(const struct cc_host_shared_map *map, const void *key, const void *value);
long cc_host_shared_delete(const struct cc_host_shared_map *map, const void *key);

/* The kernel's own, net/ipv4/tcp_cong.c. */
u32 tcp_reno_ssthresh(struct sock *sk);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
u32 tcp_reno_undo_cwnd(struct sock *sk);
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked);

#define HZ (cc_host_current->hz)

static __always_inline struct cca_trace *cc_trace_storage(struct sock *sk)
{
	struct cc_host_sock *hs = (struct cc_host_sock *)sk;

	return hs->recording ? &hs->trace : NULL;
}

#ifdef CCA_UNIT

/* Tunables of this file, last one first. */
static struct cc_host_tunable *cc_host_tunables;

/* With CCA_PLACES a message can name the line of a callback. The linker knows where the section begins and ends. */
#ifdef CCA_PLACES
#define CC_PLACE(callback)                                                                                             \
	__attribute__((used, section("cc_places"))) static const struct cc_host_place cc_place_##callback = {          \
	    #callback, (const void *)callback, __FILE__, __LINE__};
extern const struct cc_host_place __start_cc_places[], __stop_cc_places[];
#define CC_PLACES .places = __start_cc_places, .places_end = __stop_cc_places
#else
#define CC_PLACE(callback)
#define CC_PLACES .places = 0, .places_end = 0
#endif

#define CC_OP(ret, name, args...)                                                                                      \
	static ret name(args);                                                                                         \
	CC_PLACE(name)                                                                                                 \
	static ret name(args)

#define CC_GLOBAL static __noinline

#define CC_CONG_CONTROL(name, sk, ack, flag, rs)                                                                       \
	CC_OP(void, name, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)

#define CC_OPS(kernel_name)                                                                                            \
	static const struct tcp_congestion_ops kernel_name;                                                            \
	const struct cc_host_unit CCA_UNIT = {.ops = &kernel_name,                                                     \
					      .tunables = &cc_host_tunables,                                           \
					      .guard = cc_host_guard,                                                  \
					      .enter = cc_host_enter,                                                  \
					      .storage_free = cc_host_storage_free,                                    \
					      CC_PLACES};                                                              \
	static const struct tcp_congestion_ops kernel_name

/* One copy per thread, so that tests and simulations with other values can run side by side. */
#define CC_VARIABLE(type, variable, default_value)                                                                     \
	static __thread type variable = default_value;                                                                 \
	static void *cc_address_of_##variable(void)                                                                    \
	{                                                                                                              \
		return &variable;                                                                                      \
	}                                                                                                              \
	static struct cc_host_tunable cc_tunable_##variable;                                                           \
	__attribute__((constructor)) static void cc_register_##variable(void)                                          \
	{                                                                                                              \
		cc_tunable_##variable.next = cc_host_tunables;                                                         \
		cc_host_tunables = &cc_tunable_##variable;                                                             \
	}                                                                                                              \
	static struct cc_host_tunable cc_tunable_##variable = {.name = #variable,                                      \
							       .size = sizeof(type),                                   \
							       .is_signed = (type)-1 < (type)1,                        \
							       .value = default_value,                                 \
							       .address = cc_address_of_##variable}

#define CC_STORAGE(map, value_type) static const struct cc_host_map map = {.value_size = sizeof(value_type)}
#define cc_storage_get(map, sk)     cc_host_storage_get(&map, sk, 0)
#define cc_storage_create(map, sk)  cc_host_storage_get(&map, sk, 1)
#define cc_storage_delete(map, sk)  cc_host_storage_delete(&map, sk)

#define CC_SHARED(map, key_type, value_type, elements)                                                                 \
	static const struct cc_host_shared_map map = {.key_size = sizeof(key_type), .value_size = sizeof(value_type)}
#define cc_shared_get(map, key)        cc_host_shared_get(&map, key)
#define cc_shared_add(map, key, value) cc_host_shared_add(&map, key, value)
#define cc_shared_delete(map, key)     cc_host_shared_delete(&map, key)

static __always_inline u32 cc_jiffies(void)
{
	return (u32)cc_host_current->jiffies;
}

static __always_inline u64 cc_ktime_ns(void)
{
	return cc_host_current->ktime_ns;
}

/* splitmix64, upper half */
static __always_inline u32 cc_random(void)
{
	u64 z = cc_host_current->random_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (u32)((z ^ (z >> 31)) >> 32);
}

static __always_inline void cc_send_ack(struct sock *sk, u32 rcv_nxt)
{
	struct cc_host_sock *hs = (struct cc_host_sock *)sk;

	hs->acks_sent++;
	hs->ack_rcv_nxt = rcv_nxt;
}

/* Refused: there is no other algorithm here. */
static __always_inline long cc_hand_to_reno(struct sock *sk)
{
	(void)sk;
	return -1;
}

/* The kernel's defaults. */
static __always_inline u32 cc_pacing_ss_percent(const struct sock *sk)
{
	(void)sk;
	return 200;
}

static __always_inline u32 cc_pacing_ca_percent(const struct sock *sk)
{
	(void)sk;
	return 120;
}

static __always_inline int cc_set_app_limited(struct tcp_sock *tp, u32 value)
{
	if (cc_host_current->app_limited_fixed)
		return 0;
	tp->app_limited = value;
	return 1;
}

static __always_inline u32 cc_index(u32 index, u32 count)
{
	return index < count ? index : count - 1;
}

#endif /* CCA_UNIT */

#endif /* CCACTL_CC_HOST_H */
