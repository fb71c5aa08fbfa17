#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# build.sh - build the module and the tool for one kernel series from a copy of the tree,
# so that nothing is shared between kernels and the tree stays clean.
#
# usage: scripts/build.sh [--kernel SERIES] [--tree DIR] [--out DIR] [VAR=VALUE...]
#
#   --kernel SERIES  which kernel (6.12); fetched when the cache lacks it
#   --tree DIR       the tree to build (this one)
#   --out DIR        where to (out/SERIES)
#   VAR=VALUE        goes to kbuild: W=1, C=1, C=2, V=1, KCFLAGS=-Werror, …
#
# Leaves DIR/tree (the copy, with objects: building again is incremental) and
# DIR/modules/vhost_tap.ko and DIR/tree/tools/vhost_tap/vhost-tap; prints the
# path of the module.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

kernel=${VTAP_KERNELS[0]} tree=$VTAP_TREE out="" vars=()
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=${2:?}; shift 2 ;;
	--tree)	tree=$(cd "${2:?}" && pwd -P); shift 2 ;;
	--out)	out=${2:?}; shift 2 ;;
	*=*)	vars+=("$1"); shift ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	*)	die "unknown argument '$1'; try --help" ;;
	esac
done
need_kernel_name "$kernel"
out=${out:-$VTAP_OUT/$kernel}

"$VTAP_TREE/scripts/deps.sh" build
kernel_dir=$("$VTAP_TREE/scripts/kernel.sh" get "$kernel")
# The compiler that the kernel was built with, as its headers name it. A source
# that was prepared here names none: it takes the one that prepared it.
mapfile -t compiler < <(grep -soE '\bgcc-[0-9]+' "$kernel_dir/kdir/.kernelvariables" | sort -u)
need_pkgs "${compiler[@]}"
mkdir -p "$out/tree" "$out/modules"
out=$(cd "$out" && pwd -P)
take_lock "$out/.lock"

# Objects are excluded: those of the copy stay, those of the tree do not come.
rsync -a --delete --exclude '*.o' --exclude '*.ko' --exclude '*.mod' \
	--exclude '*.mod.c' --exclude '.*.cmd' --exclude '*.a' \
	--exclude Module.symvers --exclude modules.order \
	"$tree/Kbuild" "$tree/drivers" "$tree/include" "$out/tree/"
# A new package version of the kernel means new objects.
if ! cmp -s "$kernel_dir/version" "$out/tree/.built-for"; then
	make -s -C "$kernel_dir/kdir" M="$out/tree" clean >&2
	cp "$kernel_dir/version" "$out/tree/.built-for"
fi
say "building for $(<"$kernel_dir/release")"
make -C "$kernel_dir/kdir" M="$out/tree" -j"$(nproc)" --no-print-directory \
	"${vars[@]}" modules >&2 ||
	die "the build for $kernel failed (see above)"
cp "$out/tree/drivers/vhost_tap/vhost_tap.ko" "$out/modules/vhost_tap.ko.new"
mv "$out/modules/vhost_tap.ko.new" "$out/modules/vhost_tap.ko"

if [ -d "$tree/tools/vhost_tap" ]; then
	say "building the tool vhost-tap"
	mkdir -p "$out/tree/tools"
	rsync -a --delete --exclude '*.o' --exclude vhost-tap \
		"$tree/tools/vhost_tap" "$out/tree/tools/"
	make -s -C "$out/tree/tools/vhost_tap" >&2 ||
		die "the tool does not build (see above)"
fi
echo "$out/modules/vhost_tap.ko"
