#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# bench-icount.sh - instructions a packet of the worker, in-tree vhost_net and
# ours, in a VM whose clock counts instructions; and instructions a chain of the
# ring code in userspace, vringh's and ours. The same figures on a fast and on a
# slow, on an idle and on a busy machine; they are compared with the record in
# tools/testing/vhost_tap/icount.json.
#
# usage: scripts/bench-icount.sh [OPTION...] [SCENARIO...]
#
#   --record         write the record anew
#   --check          print TAP: a figure that has grown by more than 5 % fails
#   --profile        where the instructions are: a table by function, of both
#   --lines          the same, and by source line of the module
#   --kernel SERIES  on that kernel (6.12)
#   --frames N       frames a run (8000; 30000 for a profile); another number is
#                    another figure
#   --rounds N       measured runs of each (2); the lowest counts
#   --module DIR     the module in DIR, instead of building one
#   --programs DIR   the selftests in DIR, instead of building them
#
# Scenarios are vhost_bench's; without any, those of the record. Figures are in
# out/bench/icount.json.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

SCENARIOS=(tx64_up tx64_xdp tx1514_up txgso_up rx64 rx1514 rxgso)
RECORD=$VTAP_TREE/tools/testing/vhost_tap/icount.json
kernel=${VTAP_KERNELS[0]} frames="" rounds=2 mode=table lines=() module="" programs=""
while [ $# -gt 0 ]; do
	case $1 in
	--record) mode=record; shift ;;
	--check) mode=check; shift ;;
	--profile) mode=profile; shift ;;
	--lines) mode=profile lines=(--lines); shift ;;
	--kernel) kernel=${2:?}; shift 2 ;;
	--frames) frames=${2:?}; shift 2 ;;
	--rounds) rounds=${2:?}; shift 2 ;;
	--module) module=$(cd "${2:?}" && pwd -P); shift 2 ;;
	--programs) programs=$(cd "${2:?}" && pwd -P); shift 2 ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	-*)	die "unknown option '$1'; try --help" ;;
	*)	break ;;
	esac
done
need_kernel_name "$kernel"
scenarios=("$@")
[ $# -gt 0 ] || scenarios=("${SCENARIOS[@]}")
if [ -z "$frames" ]; then
	frames=8000
	[ "$mode" != profile ] || frames=30000
fi

"$VTAP_TREE/scripts/deps.sh" icount
kernel_dir=$("$VTAP_TREE/scripts/kernel.sh" get "$kernel")
out=$VTAP_OUT/bench
work=$out/icount
mkdir -p "$work"
rm -f "$work"/*.data
take_lock "$work/.lock"

# quietly COMMAND...: its output only if it fails.
quietly()
{
	"$@" >"$work/build.log" 2>&1 || {
		tail -n 30 "$work/build.log" >&2
		die "$1 failed (see above)"
	}
}

if [ -z "$module" ]; then
	say "building the module"
	quietly "$VTAP_TREE/scripts/build.sh" --kernel "$kernel"
	module=$VTAP_OUT/$kernel/modules
fi
if [ -z "$programs" ]; then
	say "building vhost_bench"
	quietly "$VTAP_TREE/scripts/selftests.sh" --kernel "$kernel"
	programs=$VTAP_OUT/$kernel/kselftest
fi
[ -x "$programs/vhost_bench" ] || die "there is no vhost_bench in $programs"

say "counting in a VM: ${scenarios[*]}"
profile=""
[ "$mode" != profile ] || profile=$work
run_child "$VTAP_TREE/scripts/vm.sh" --kernel "$kernel" --icount --timeout 400 \
	--modules "$module" --share "$work" --log "$work/kernel.log" -- \
	"$VTAP_TREE/scripts/vm/run-icount" "$programs" "$frames" "$rounds" "$profile" \
	"${scenarios[@]}" >"$work/runs" || {
	cat "$work/runs" >&2
	die "the run in the VM failed; its kernel log is $work/kernel.log"
}
tr -d '\r' <"$work/runs" | sed -n 's/^@@failed /# failed: /p' >&2
tr -d '\r' <"$work/runs" | grep '^{' >"$work/runs.json" || die "nothing was measured"
if [ "$mode" = profile ]; then
	"$VTAP_TREE/scripts/bench/icount_profile.py" "${lines[@]}" \
		--module "$module/vhost_tap.ko" "$work"
	exit
fi

# ring: callgrind counts; not everything, if only some scenarios are wanted.
: >"$work/ring"
if [ $# = 0 ]; then
	say "counting in userspace: the ring code and vringh"
	make -s --no-print-directory -C "$VTAP_TREE/tools/testing/vhost_tap" icount \
		OUT="$VTAP_OUT/ring/$(basename "$kernel_dir")" \
		KSRC="$kernel_dir/src" >"$work/ring" ||
		die "counting the ring code failed (see above)"
fi
version="linux $(<"$kernel_dir/version"), cc $(cc -dumpfullversion)"
if [ "$mode" = check ] && [ $# -gt 0 ]; then
	mode=check-some
fi
if [ "$mode" = record ]; then
	[ $# = 0 ] || die "a record is of all scenarios; name none"
	set -- "$RECORD" "$kernel" "$frames"
else
	set -- "$RECORD" "$out/icount.json"
fi
"$VTAP_TREE/scripts/bench/icount.py" "$mode" "$work/runs.json" "$work/ring" "$version" "$@"
