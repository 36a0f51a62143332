/* SPDX-License-Identifier: GPL-2.0 */
/* The only place of the BPF side that knows kernel versions. */
#ifndef CCACTL_COMPAT_BPF_H
#define CCACTL_COMPAT_BPF_H

/*
 * cong_control has the arguments (sk, ack, flag, rs) from 6.10 on and (sk, rs) before. The loader counts the
 * arguments in the running kernel's BTF and stores the result here before the load; the verifier then removes the
 * other branch as dead code.
 */
const volatile u32 cc_cong_control_args = 4;

/*
 * CC_CONG_CONTROL(name, sk, ack, flag, rs) { body }: ack and flag are 0 on kernels that do not pass them. The body is a
 * function of its own, or both branches would hold a copy of it. The two pieces of assembly emit nothing: they keep
 * clang from merging the branches into one load from a computed place in ctx, which the verifier refuses.
 */
#define CC_CONG_CONTROL(name, sk, ack, flag, rs)                                                                       \
	static __noinline void ____##name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);           \
	SEC("struct_ops") void name(unsigned long long *ctx)                                                           \
	{                                                                                                              \
		const struct rate_sample *rs_;                                                                         \
		if (cc_cong_control_args == 4) {                                                                       \
			rs_ = (void *)ctx[3];                                                                          \
			asm volatile("# four arguments" : "+r"(rs_));                                                  \
			____##name((void *)ctx[0], (u32)ctx[1], (int)ctx[2], rs_);                                     \
		} else {                                                                                               \
			rs_ = (void *)ctx[1];                                                                          \
			asm volatile("# two arguments" : "+r"(rs_));                                                   \
			____##name((void *)ctx[0], 0, 0, rs_);                                                         \
		}                                                                                                      \
	}                                                                                                              \
	static __noinline void ____##name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)

/* Resolved by libbpf at load time, hence a constant for the verifier: branches for other kernels are dead code. */
extern int LINUX_KERNEL_VERSION __kconfig;
#define CC_KERNEL_VERSION(major, minor) (((major) << 16) + ((minor) << 8))

/*
 * tp->app_limited may be written from 6.4 on (net/ipv4/bpf_tcp_ca.c). Returns 0 where it may not: the algorithm then
 * keeps its own account.
 */
static __always_inline int cc_set_app_limited(struct tcp_sock *tp, u32 value)
{
	if (LINUX_KERNEL_VERSION < CC_KERNEL_VERSION(6, 4))
		return 0;
	tp->app_limited = value;
	return 1;
}

/*
 * An index of an array of `count` elements, for a verifier that knows no bound of it. clang compares one copy of a
 * value and uses another; Linux 6.1 does not carry the bound over from the one to the other (seen with hstcp:
 * "unbounded memory access"), 6.12 does. The assembly emits nothing: it makes the value one that clang knows as little
 * of as the verifier does, so that the comparison stays and is that of the copy in use.
 */
static __always_inline u32 cc_index(u32 index, u32 count)
{
	asm volatile("" : "+r"(index));
	return index < count ? index : count - 1;
}

#endif /* CCACTL_COMPAT_BPF_H */
