#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# uml.sh - User Mode Linux: a host kernel that is a program of this machine, for
# what emulation of a whole machine is too slow for (QEMU in the host VM).
#
# usage: scripts/uml.sh [--debug] COMMAND
#
#   get          print its folder; builds it if the cache lacks it (5 minutes)
#   module OUT   build the module for it; OUT/vhost_tap.ko
#   run DIR MB   run it with MB of memory until it switches itself off; DIR is
#                writable inside and holds `job`, see scripts/guests/uml-init; 98
#                when its log holds an oops or a warning
#   --debug      a kernel with KASAN, UBSAN and lockdep
#
# The folder holds `linux` (the program), `kdir` (good for make ARCH=um -C … M=…)
# and `modules` (vhost_net and what it needs). It is keyed by the version of
# linux-source, the configuration and the patches, and never changes once it is
# complete.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$VTAP_TREE/scripts/vm/common"

SERIES=6.12
LAYOUT=1	# raise it when the folder's layout changes
G=$VTAP_TREE/scripts/guests
fragments=("$G/uml.config")
LOG=$VTAP_CACHE/uml/build.log

# trim DIR: what building a module never reads goes; it is most of it.
trim()
{
	find "$1/src" -mindepth 1 -maxdepth 1 -type d ! -name arch ! -name include \
		! -name scripts ! -name tools -exec rm -rf {} +
	find "$1/src/arch" -mindepth 1 -maxdepth 1 -type d ! -name um ! -name x86 \
		-exec rm -rf {} +
	find "$1/src/tools" -mindepth 1 -maxdepth 1 ! -name include ! -name scripts \
		! -name build -exec rm -rf {} +
	find "$1/kdir" -mindepth 1 -maxdepth 1 ! -name arch ! -name include \
		! -name scripts ! -name source ! -name Makefile ! -name .config \
		! -name Module.symvers -exec rm -rf {} +
}

build()	# DIR
{
	local d=$1 p version

	"$VTAP_TREE/scripts/deps.sh" uml
	# The lock is ours: what a killed run left half-made belongs to nobody.
	rm -rf "$d"
	on_exit "[ -e '$d/complete' ] || rm -rf '$d'"
	mkdir -p "$d/kdir" "$d/modules"
	version=$("$VTAP_TREE/scripts/kernel.sh" source "$SERIES" "$d/src")
	for p in "$G"/uml-*.patch; do
		patch -s -d "$d/src" -p 1 <"$p" >&2 || die "$p does not apply"
	done
	say "building User Mode Linux $version, about 5 minutes on two processors; output in $LOG"
	cat "${fragments[@]}" >"$d/all.config"
	if ! make -C "$d/src" ARCH=um O="$d/kdir" KCONFIG_ALLCONFIG="$d/all.config" \
			allnoconfig >"$LOG" 2>&1 ||
	   ! run_child nice -n 10 make -C "$d/kdir" ARCH=um -j"$(nproc)" \
			>>"$LOG" 2>&1 </dev/null; then
		tail -n 20 "$LOG" >&2
		die "User Mode Linux does not build (all of it: $LOG)"
	fi
	while read -r p; do
		grep -qxF "$p" "$d/kdir/.config" || say "the configuration lacks $p"
	done < <(grep '^CONFIG' "$d/all.config")
	mv "$d/kdir/linux" "$d/linux"
	cp "$d"/kdir/drivers/vhost/*.ko "$d/modules/"
	trim "$d"
	echo "$version" >"$d/complete"
	say "User Mode Linux $version is in $d"
}

get()
{
	local d version

	version=$(<"$("$VTAP_TREE/scripts/kernel.sh" get "$SERIES")/version")
	d=$VTAP_CACHE/uml/$(tr '~:' '__' <<<"$version")
	d+=-$(cat "${fragments[@]}" "$G"/uml-*.patch | sha256sum | cut -c 1-12)-l$LAYOUT
	if [ ! -e "$d/complete" ]; then
		mkdir -p "$VTAP_CACHE/uml"
		take_lock "$VTAP_CACHE/uml/.lock"
		[ -e "$d/complete" ] || build "$d"
		drop_lock
	fi
	echo "$d"
}

module()	# OUT
{
	local out=$1 d

	"$VTAP_TREE/scripts/deps.sh" build
	d=$(get)
	mkdir -p "$out/tree"
	out=$(cd "$out" && pwd -P)
	take_lock "$out/.lock"
	rsync -a --delete --exclude '*.o' --exclude '*.ko' --exclude '*.mod' \
		--exclude '*.mod.c' --exclude '.*.cmd' --exclude '*.a' \
		--exclude Module.symvers --exclude modules.order \
		"$VTAP_TREE/Kbuild" "$VTAP_TREE/drivers" "$VTAP_TREE/include" "$out/tree/"
	if [ "$(cat "$out/tree/.built-for" 2>/dev/null)" != "$d" ]; then
		find "$out/tree" \( -name '*.o' -o -name '.*.cmd' \) -delete
		echo "$d" >"$out/tree/.built-for"
	fi
	say "building the module for User Mode Linux"
	run_child nice -n 10 make -C "$d/kdir" ARCH=um M="$out/tree" -j"$(nproc)" \
		--no-print-directory modules >&2 </dev/null ||
		die "the module does not build for User Mode Linux (see above)"
	cp "$out/tree/drivers/vhost_tap/vhost_tap.ko" "$out/vhost_tap.ko.new"
	mv "$out/vhost_tap.ko.new" "$out/vhost_tap.ko"
}

# Its memory is a file that is deleted at once, in TMPDIR, and grows as it is
# used; a kernel in user mode makes a process for each of its own.
stop_uml()
{
	local _

	[ -n "$uml" ] || return 0
	kill -- "-$uml" 2>/dev/null || return 0
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		kill -0 -- "-$uml" 2>/dev/null || return 0
		sleep 0.1
	done
	kill -9 -- "-$uml" 2>/dev/null || :
}

# last_cpu: the last of the processors that we may use.
last_cpu()
{
	taskset -cp $$ | sed 's/.*[ ,-]//'
}

# memory_place MB: a folder for the file that is its memory; programs run from
# it as well, and a container's /dev/shm often allows neither.
memory_place()
{
	local t probe

	for t in /dev/shm "${TMPDIR:-/tmp}" "$VTAP_CACHE/uml"; do
		probe=$t/vtap-probe.$$
		if [ "$(df --output=avail -m "$t" 2>/dev/null | tail -n 1)" -gt "$1" ] &&
		   cp /bin/true "$probe" 2>/dev/null && "$probe" 2>/dev/null; then
			rm -f "$probe"
			echo "$t"
			return
		fi
		rm -f "$probe"
	done
	die "no folder with $1 MB of room that programs may run from: /dev/shm, ${TMPDIR:-/tmp} and $VTAP_CACHE/uml were tried; name one with TMPDIR="
}

run()	# DIR MB
{
	local dir d tmp bad

	dir=$(cd "$1" && pwd -P)
	d=$(get)
	tmp=$(memory_place "$2")
	uml=""
	on_exit stop_uml
	# It runs one thing at a time, which is much faster on one processor; the
	# priority, where we may have it, is for figures that others disturb less.
	renice -n -10 -p $$ >/dev/null 2>&1 || :
	TMPDIR=$tmp setsid taskset -c "$(last_cpu)" "$d/linux" "mem=$2M" root=/dev/root rootfstype=hostfs \
		rootflags=/ ro "init=$G/uml-init" "VTAP_JOB=$dir/job" quiet \
		con0=null,fd:1 con=null ssl=null </dev/null >"$dir/console" 2>&1 &
	uml=$!
	wait "$uml" || :
	uml=""
	[ -e "$dir/status" ] || { tail -n 20 "$dir/console" >&2; die "User Mode Linux died"; }
	bad=$(grep -aE "$SPLAT|Kernel panic" "$dir/dmesg" || :)
	if [ -n "$bad" ]; then
		say "the kernel complained:"
		head -n 20 <<<"$bad" >&2
		return 98
	fi
	return "$(<"$dir/status")"
}

if [ "${1:-}" = --debug ]; then
	fragments+=("$G/uml-debug.config")
	shift
fi
case ${1:-} in
get)	get ;;
module)	[ $# = 2 ] || die "module needs a folder to build in"
	module "$2" ;;
run)	[ $# = 3 ] || die "run needs a folder and an amount of memory"
	run "$2" "$3" ;;
-h|--help) usage_from_header "$0" ;;
*)	usage_from_header "$0" >&2; exit 2 ;;
esac
