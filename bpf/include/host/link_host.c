// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0
/* The link of link_queue.bpf.h for the native build: what bpf/link.bpf.c is to the kernel, with slots in plain memory. */
#include <stdlib.h>

#include "cc.bpf.h"
#include "link_queue.bpf.h"

struct link_host {
	struct cca_link_state state;
	struct cca_link_config config;
	struct link_slot slots[];
};

static __always_inline struct link_slot *link_slot(struct cca_link_state *link, u64 number)
{
	struct link_host *host = (struct link_host *)link;

	return &host->slots[number & (host->config.slots - 1)];
}

static void advance(struct link_host *host, u64 now)
{
	while (link_step(&host->config, &host->state, now))
		;
}

struct link_host *link_host_new(const struct cca_link_config *config);
void link_host_free(struct link_host *host);
int link_host_arrive(struct link_host *host, u64 now, u32 bytes);
int link_host_leave(struct link_host *host, u64 now, u64 *number, u64 *due_ns);
const struct cca_link_state *link_host_state(const struct link_host *host);

struct link_host *link_host_new(const struct cca_link_config *config)
{
	struct link_host *host = calloc(1, sizeof(*host) + config->slots * sizeof(struct link_slot));

	if (host)
		host->config = *config;
	return host;
}

void link_host_free(struct link_host *host)
{
	free(host);
}

/* Whether the packet was taken in. */
int link_host_arrive(struct link_host *host, u64 now, u32 bytes)
{
	advance(host, now);
	return link_arrive(&host->config, &host->state, now, bytes) != NULL;
}

/* The next packet that has left or was dropped by now: 0 for none. */
int link_host_leave(struct link_host *host, u64 now, u64 *number, u64 *due_ns)
{
	struct cca_link_state *link = &host->state;

	advance(host, now);
	if (link->out == link->tail)
		return 0;
	*due_ns = link_slot(link, link->out)->due_ns;
	if (*due_ns == LINK_INSIDE)
		return 0;
	*number = link->out++;
	return 1;
}

const struct cca_link_state *link_host_state(const struct link_host *host)
{
	return &host->state;
}
