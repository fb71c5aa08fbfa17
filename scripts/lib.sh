# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What every script here shares: where things are kept, how progress and
# errors look, how a missing Debian package is installed, how locks are taken.
# Sourced, never run; does nothing by itself but set variables.
#
# Output: everything for people goes to stderr, so that stdout stays free for
# what a script answers (a folder, TAP, JSON).

# Kernel series that the module supports now; the first is the default.
# shellcheck disable=SC2034 # read by the scripts that source this
VTAP_KERNELS=(6.12 6.1 7.3)
# Kernels that scripts/kernel.sh builds here, of the series that their names begin with.
# shellcheck disable=SC2034
VTAP_BUILT_KERNELS=(6.12-debug 6.12-race)

# What kernel.sh ends with if a series of another suite cannot be had any more.
# shellcheck disable=SC2034
VTAP_GONE=3

VTAP_TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
VTAP_CACHE=${VTAP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vhost_tap}
VTAP_OUT=${VTAP_OUT:-$VTAP_TREE/out}
VTAP_SELF=$(basename "$0")

# say WORDS: one line of progress.
say()
{
	printf '%s: %s\n' "${VTAP_SELF%.sh}" "$*" >&2
}

# die WORDS: what went wrong and what to do about it; ends the script.
die()
{
	printf '%s: error: %s\n' "${VTAP_SELF%.sh}" "$*" >&2
	exit 1
}

# usage_from_header FILE: print the comment block that opens a script.
usage_from_header()
{
	sed -n '2,${/^#/!q;/SPDX-/d;s/^# \{0,1\}//;p}' "$1"
}

# on_exit COMMAND: run COMMAND when the script ends, however it ends; the
# newest first.
_vtap_exit=()
on_exit()
{
	_vtap_exit=("$*" "${_vtap_exit[@]}")
	trap _vtap_run_exit EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
}

_vtap_run_exit()
{
	local rc=$? c

	trap - EXIT
	trap '' INT TERM
	for c in "${_vtap_exit[@]}"; do
		eval "$c" || :
	done
	exit "$rc"
}

# run_child COMMAND...: run it so that a signal to this script ends it at once,
# not when it is done: bash would wait for it before it runs a trap.
_vtap_child=""
stop_child()
{
	[ -z "$_vtap_child" ] || kill "$_vtap_child" 2>/dev/null
}

run_child()
{
	local rc=0

	on_exit stop_child
	"$@" &
	_vtap_child=$!
	wait "$_vtap_child" || rc=$?
	_vtap_child=""
	return "$rc"
}

# as_root COMMAND...: run with the rights that installing needs.
as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "this needs root: install sudo, or run as root: $*"
	fi
}

# missing_pkgs PACKAGE...: print those that are not installed.
missing_pkgs()
{
	local p

	for p in "$@"; do
		dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null |
			grep -qx installed || echo "$p"
	done
}

apt_update()
{
	say "refreshing apt's package lists"
	as_root apt-get -o DPkg::Lock::Timeout=600 -qq update >&2 ||
		say "apt-get update reported errors; going on with what it has"
}

_apt_install()
{
	as_root env DEBIAN_FRONTEND=noninteractive apt-get \
		-o DPkg::Lock::Timeout=600 -q -y --no-install-recommends \
		install "$@" >&2
}

# need_pkgs PACKAGE...: install what is missing through apt, nothing else.
need_pkgs()
{
	local miss

	mapfile -t miss < <(missing_pkgs "$@")
	[ ${#miss[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null ||
		die "not a Debian system; please install: ${miss[*]}"
	say "installing packages: ${miss[*]}"
	_apt_install "${miss[@]}" && return 0
	apt_update
	_apt_install "${miss[@]}" ||
		die "apt could not install: ${miss[*]} (see above; try: apt-get install ${miss[*]})"
}

# take_lock FILE: hold FILE until drop_lock or the end of the script; waits for
# whoever holds it now, and says so.
take_lock()
{
	mkdir -p "$(dirname "$1")"
	exec {_vtap_lockfd}>"$1"
	if ! flock -n "$_vtap_lockfd"; then
		say "another run holds $1; waiting for it"
		flock "$_vtap_lockfd"
	fi
}

drop_lock()
{
	exec {_vtap_lockfd}>&-
}

# need_kernel_name SERIES: is it one of the supported ones?
need_kernel_name()
{
	local k

	for k in "${VTAP_KERNELS[@]}" "${VTAP_BUILT_KERNELS[@]}"; do
		[ "$k" = "$1" ] && return 0
	done
	die "unknown kernel '$1'; known: ${VTAP_KERNELS[*]} ${VTAP_BUILT_KERNELS[*]}"
}

# is_built_kernel SERIES: one of ours, with checks that make it slow?
is_built_kernel()
{
	[[ $1 == *-* ]]
}

# uncompressed_kernel KERNEL_DIR: print where its vmlinux is. Emulated guests
# start from that (PVH entry): decompressing a bzImage takes them minutes.
uncompressed_kernel()
{
	local vmlinux=$VTAP_CACHE/vm/vmlinux-${1##*/}

	if [ ! -e "$vmlinux" ]; then
		mkdir -p "$VTAP_CACHE/vm"
		bash "$1/src/scripts/extract-vmlinux" "$1/vmlinuz" >"$vmlinux.$$" ||
			die "cannot unpack $1/vmlinuz"
		mv "$vmlinux.$$" "$vmlinux"
	fi
	echo "$vmlinux"
}
