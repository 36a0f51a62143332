/* SPDX-License-Identifier: GPL-2.0 */
/* The one map that algorithms and recorders share. Whoever comes first creates and pins it, the other finds it. */
#ifndef CCACTL_TRACE_MAP_BPF_H
#define CCACTL_TRACE_MAP_BPF_H

/* Filled by the algorithms, created per socket by a recorder: without a recorder the lookup is all that it costs. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
	__type(key, int);
	__type(value, struct cca_trace);
} cca_trace_map SEC(".maps");

#endif /* CCACTL_TRACE_MAP_BPF_H */
