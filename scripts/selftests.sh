#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# selftests.sh - build the kselftests the way they build in a kernel tree: in a
# copy of linux-source's own tools/testing/selftests, with its lib.mk, against
# its exported headers.
#
# usage: scripts/selftests.sh [--kernel SERIES] [--tree DIR] [--out DIR]
#
# Prints the folder with the programs; its file `programs` lists them.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

kernel=${VTAP_KERNELS[0]} tree=$VTAP_TREE out=""
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=${2:?}; shift 2 ;;
	--tree)	tree=$(cd "${2:?}" && pwd -P); shift 2 ;;
	--out)	out=${2:?}; shift 2 ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	*)	die "unknown argument '$1'; try --help" ;;
	esac
done
need_kernel_name "$kernel"
out=${out:-$VTAP_OUT/$kernel}
"$VTAP_TREE/scripts/deps.sh" build
kernel_dir=$("$VTAP_TREE/scripts/kernel.sh" get "$kernel")
src=$kernel_dir/src
mkdir -p "$out/ksft/usr" "$out/ksft/scripts" "$out/ksft/tools/testing/selftests"
out=$(cd "$out" && pwd -P)
take_lock "$out/.lock"

say "building the kselftests for $kernel"
t=$out/ksft
rsync -a "$src/usr/include" "$t/usr/"
rsync -a "$src/tools/include" "$src/tools/scripts" "$t/tools/"
rsync -a "$src/scripts/subarch.include" "$t/scripts/"
rsync -a --exclude '*/' "$src/tools/testing/selftests/" "$t/tools/testing/selftests/"
rsync -a "$src/tools/testing/selftests/kselftest" "$t/tools/testing/selftests/"
rsync -a --delete "$tree/include" "$t/"
# What somebody built in the tree itself stays there.
rsync -a --exclude obj --exclude '*.a' --exclude '*.o' --exclude '*_test' --exclude vhost_bench \
	"$tree/tools/testing/selftests/vhost_tap" "$t/tools/testing/selftests/"
# lib.mk takes the folder to build in from make's level of recursion, and from OUTPUT:
# said here, so that a caller who is a make himself changes nothing. Left to itself it
# would then build in /, where every tree and kernel meets the programs of the others.
programs=$t/tools/testing/selftests/vhost_tap
ksft()
{
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$programs" OUTPUT="$programs" "$@"
}
ksft -j"$(nproc)" all >&2 ||
	die "the kselftests do not build (see above)"
rm -rf "$out/kselftest"
ksft -s INSTALL_PATH="$out/kselftest" install >&2
ksft -s --no-print-directory COLLECTION=x emit_tests |
	sed 's/^x://' >"$out/kselftest/programs"
[ -s "$out/kselftest/programs" ] || die "the kselftests have no program"
echo "$out/kselftest"
