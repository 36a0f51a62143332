#!/bin/sh
# Cargo puts this script in front of rustc for the crates of this workspace (build.rustc-workspace-wrapper in
# .cargo/config.toml).
#
# rustc links through `cc`, which rustup does not bring along. `cargo xtask setup` installs what else is missing, but
# it could not be linked itself: so when xtask is compiled, and only then, make sure that there is a linker. That is
# also why xtask has no dependencies: cargo would compile theirs first, without coming by here.
[ "${CARGO_BIN_NAME:-}" = xtask ] || exec "$@"

links() {
	probe=$(mktemp) && echo 'int main(void) { return 0; }' | cc -x c - -o "$probe" >/dev/null 2>&1
	status=$?
	rm -f "$probe"
	return $status
}

if ! links; then
	root=
	[ "$(id -u)" = 0 ] || root=sudo
	if ! command -v apt-get >/dev/null 2>&1 || { [ -n "$root" ] && ! command -v sudo >/dev/null 2>&1; }; then
		echo "xtask: no working C compiler \`cc\`, which rustc needs to link: install gcc and the headers of the C library (Debian: gcc libc6-dev), then repeat" >&2
		exit 1
	fi
	echo "xtask: no working C compiler \`cc\`, which rustc needs to link: installing gcc and libc6-dev with apt-get" >&2
	export DEBIAN_FRONTEND=noninteractive
	if ! { $root apt-get update -qq && $root apt-get install -y -qq --no-install-recommends gcc libc6-dev; } >/dev/null </dev/null; then
		echo "xtask: apt-get could not install gcc and libc6-dev; its message is above" >&2
		exit 1
	fi
fi
exec "$@"
