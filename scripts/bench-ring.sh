#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# bench-ring.sh - what the portable ring code costs on the bare CPU, beside the
# kernel's vringh, which is compiled from Debian's kernel source here and now.
# Both run in userspace, with the same flags, ring, barriers and batches; user
# access is plain loads and stores for both.
#
# usage: scripts/bench-ring.sh [--kernel SERIES] [--pairs N] [--descs N]
#
#   --kernel SERIES  whose vringh (6.12)
#   --pairs N        runs of each side, in turn (5)
#   --descs N        descriptors a run (4000000)
#
# Prints a table of medians and of the ratios, pair by pair; figures are in
# out/bench/ring.json. The last line is "bench-ring: ours/vringh RATIO …".
set -euo pipefail
. "$(dirname "$0")/lib.sh"

kernel=${VTAP_KERNELS[0]} pairs=5 descs=4000000
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=${2:?}; shift 2 ;;
	--pairs) pairs=${2:?}; shift 2 ;;
	--descs) descs=${2:?}; shift 2 ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	*)	die "unknown argument '$1'; try --help" ;;
	esac
done
need_kernel_name "$kernel"
"$VTAP_TREE/scripts/deps.sh" ring
kernel_dir=$("$VTAP_TREE/scripts/kernel.sh" get "$kernel")
out=$VTAP_OUT/bench
objects=$VTAP_OUT/ring/$(basename "$kernel_dir")
mkdir -p "$out" "$objects"

say "building the ring code and the vringh of $(<"$kernel_dir/release")"
make -s -C "$VTAP_TREE/tools/testing/vhost_tap" OUT="$objects" \
	KSRC="$kernel_dir/src" "$objects/bench_ring" >&2 ||
	die "the benchmark does not build (see above)"

# Without a second CPU the two threads would wait for each other's time slices.
ways=(1 2)
if [ "$(nproc)" -lt 2 ]; then
	say "one CPU: the figures for two threads are left out"
	ways=(1)
fi
runs=$out/ring-runs.json
: >"$runs.new"
on_exit "rm -f '$runs.new'"
for pair in $(seq "$pairs"); do
	say "pair $pair of $pairs"
	# Whoever comes second may find the CPU warm: take turns.
	sides=(ours vringh)
	((pair % 2)) || sides=(vringh ours)
	for kind in direct-1 direct-2 indirect-8 regions-1; do
		for threads in "${ways[@]}"; do
			for side in "${sides[@]}"; do
				run_child "$objects/bench_ring" -s "$side" -k "$kind" \
					-t "$threads" -n "$descs" >>"$runs.new" ||
					die "bench_ring -s $side -k $kind -t $threads failed (see above)"
			done
		done
	done
done
mv "$runs.new" "$runs"
"$VTAP_TREE/scripts/bench/ring.py" "$runs" "$(<"$kernel_dir/version")" "$out/ring.json"
