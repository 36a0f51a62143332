/* SPDX-License-Identifier: GPL-2.0 */
/* The congestion control that a socket has, read from the kernel's own table. */
#ifndef CCACTL_ALGORITHM_OF_BPF_H
#define CCACTL_ALGORITHM_OF_BPF_H

/* struct tcp_congestion_ops of kernel_types.h is our side of struct_ops; this is the kernel's, to read from. */
struct tcp_congestion_ops___kernel {
	char name[CCA_NAME_LEN];
	void *owner;
} __attribute__((preserve_access_index));

static __always_inline void cca_algorithm_of(struct tcp_sock *tp, char *name)
{
	struct tcp_congestion_ops___kernel *ops = (void *)tp->inet_conn.icsk_ca_ops;

	bpf_probe_read_kernel(name, CCA_NAME_LEN, &ops->name);
}

/* Both names are padded with NUL. Without a branch per byte, which the verifier would follow one by one. */
static __always_inline int cca_same_name(const char *a, const char *b)
{
	unsigned char differs = 0;

	for (int i = 0; i < CCA_NAME_LEN; i++)
		differs |= a[i] ^ b[i];
	return !differs;
}

#endif /* CCACTL_ALGORITHM_OF_BPF_H */
