//! Metrics of the sockets of this host for Prometheus.
