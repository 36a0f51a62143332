/* SPDX-License-Identifier: GPL-2.0 */
/* What receiving algorithms and recorders share. Whoever comes first creates and pins the map, the other finds it. */
#ifndef CCACTL_OFFERS_MAP_BPF_H
#define CCACTL_OFFERS_MAP_BPF_H

/* What a socket offers by our doing; for recorders, and for whoever takes the bound back. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
	__type(key, int);
	__type(value, struct cca_offer);
} offers SEC(".maps");

#endif /* CCACTL_OFFERS_MAP_BPF_H */
