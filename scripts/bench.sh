#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# bench.sh - measure vhost_tap beside in-tree vhost_net: one VM, both modules
# loaded, each scenario on one and on the other in turn; a table of the ratios.
#
# usage: scripts/bench.sh [OPTION...]
#
#   --kernel SERIES     kernel to measure on (6.12)
#   --pairs N           pairs of measurements a scenario, after a warm-up (5)
#   --seconds S         length of a measurement (0.7)
#   --scenarios "NAME…" only those; --list names them
#   --no-perf           leave out the profile of the workers
#   --no-ring           leave out `make bench-ring`, which else runs first in a
#                       run of all scenarios
#   --record            put table, plot and figures into Documentation/networking
#   --report FILE       report on the lines of an earlier run; measures nothing
#   --list              the scenarios
#
# Leaves in out/bench/: raw.jsonl (a line a measurement), bench.json (all of it
# and the summary), bench.svg (the ratios), bench.rst (the table), perf-*.txt (the profiles).
# The last line is "bench: N of M goals met". The goal of the ring code
# counts with what `make bench-ring` has left in out/bench/.
#
# Wants a machine that has nothing else to do.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

kernel=${VTAP_KERNELS[0]} pairs=5 seconds=0.7 only="" record="" list="" old="" perf=1 ring=1
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=${2:?}; shift 2 ;;
	--pairs) pairs=${2:?}; shift 2 ;;
	--seconds) seconds=${2:?}; shift 2 ;;
	--scenarios) only=${2:?}; shift 2 ;;
	--no-perf) perf=""; shift ;;
	--no-ring) ring=""; shift ;;
	--record) record=1; shift ;;
	--report) old=${2:?}; shift 2 ;;
	--list)	list=1; shift ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	*)	die "unknown argument '$1'; try --help" ;;
	esac
done
need_kernel_name "$kernel"
[[ $pairs =~ ^[1-9][0-9]*$ ]] || die "--pairs wants a number, not '$pairs'"
[[ $seconds =~ ^[0-9]*\.?[0-9]+$ ]] || die "--seconds wants a number, not '$seconds'"

out=$VTAP_OUT/bench
raw=$out/raw.jsonl
log=$out/bench.log
mkdir -p "$out"
"$VTAP_TREE/scripts/deps.sh" bench

report()	# FILE
{
	local args=(--out "$out" --kernel "$kernel")

	[ -z "$record" ] || args+=(--record "$VTAP_TREE/Documentation/networking")
	python3 "$VTAP_TREE/scripts/bench/report.py" "${args[@]}" "$1"
}

if [ -n "$old" ]; then
	report "$old"
	exit
fi

: >"$log"
say "building (log: $log)"
"$VTAP_TREE/scripts/build.sh" --kernel "$kernel" >>"$log" 2>&1 ||
	{ tail -n 20 "$log" >&2; die "the module does not build"; }
"$VTAP_TREE/scripts/selftests.sh" --kernel "$kernel" >>"$log" 2>&1 ||
	{ tail -n 20 "$log" >&2; die "the load programs do not build"; }
ksft=$VTAP_OUT/$kernel/kselftest

scenarios()
{
	"$ksft/vhost_bench" --list
	printf '%-14s %s\n' testpmd_tx64 "64 B frames from DPDK's testpmd" \
		testpmd_rx64 "64 B frames to testpmd, from pktgen" \
		perf:tx64_up "profile of the workers" perf:rx64 "the same" \
		perf:txgso_up "the same" perf:rx64_live "the same" \
		perf:rr16 "the same" perf:dev64 "the same"
}

if [ -n "$list" ]; then
	scenarios
	exit
fi
mapfile -t known < <(scenarios | cut -d' ' -f1)
names=()
for n in "${known[@]}"; do
	[ -z "$perf" ] && [[ $n == perf:* ]] || names+=("$n")
done
if [ -n "$only" ]; then
	read -ra names <<<"$only"
	for n in "${names[@]}"; do
		[[ " ${known[*]} " == *" $n "* ]] ||
			die "no scenario '$n'; --list names them"
	done
fi

if [ -n "$ring" ] && [ -z "$only" ]; then
	say "the ring code beside vringh (make bench-ring)"
	run_child "$VTAP_TREE/scripts/bench-ring.sh" --kernel "$kernel" >>"$log" 2>&1 ||
		say "bench-ring failed (see $log)"
fi

# Before others, where that is allowed: what else runs shows in the figures.
first=()
! nice -n -15 true 2>/dev/null || first=(nice -n -15)

vm=""
# shellcheck disable=SC2317 # on_exit calls it
stop_vm()
{
	[ -z "$vm" ] || kill "$vm" 2>/dev/null
}
on_exit stop_vm

# measure SCENARIO...: boots the VM; its lines go where they belong. Leaves in
# `finished` how many scenarios are behind it.
finished=0
measure()
{
	local fd line rc=0 n=0 start=$SECONDS eta

	finished=0
	exec {fd}< <(exec "${first[@]}" "$VTAP_TREE/scripts/vm.sh" \
		--kernel "$kernel" --modules "$VTAP_OUT/$kernel/modules" \
		--share "$out" --log "$out/kernel.log" --timeout 1800 -- \
		"$VTAP_TREE/scripts/vm/run-bench" "$ksft" "$(cd "$out" && pwd -P)" \
		"$pairs" "$seconds" \
		"$@" 2>>"$log")
	vm=$!
	while IFS= read -r line <&"$fd"; do
		line=${line%$'\r'}
		case $line in
		\{*)	printf '%s\n' "$line" >>"$raw" ;;
		'@@scenario '*)
			eta=""
			((n == 0)) || eta=", about $(((SECONDS - start) * ($# - n) / n)) s left"
			finished=$n
			n=$((n + 1))
			say "${line#@@scenario } ($n of $#$eta)" ;;
		'@@failed '*)	say "cannot measure ${line#@@failed }" ;;
		'@@done')	finished=$n ;;
		'@@splat')	say "the kernel complained; see $out/kernel.log" ;;
		*)	printf '%s\n' "$line" >>"$log" ;;
		esac
	done
	exec {fd}<&-
	wait "$vm" || rc=$?
	vm=""
	[ "$rc" = 0 ] || say "the VM ended with status $rc (see $log)"
	return "$rc"
}

# profiles: what perf has sampled, as shares and symbols
profiles()
{
	local f name

	for f in "$out"/perf-*.samples; do
		[ -e "$f" ] || continue
		name=$(basename "$f" .samples)
		set -- "$f" "$out/perf-kallsyms" "${f%.samples}.txt"
		[ "$name" != perf-tx64_up-ours ] ||
			set -- "$@" module_share_tx64_up "$out/module_share.json"
		echo "${name#perf-}: $(python3 "$VTAP_TREE/scripts/bench/profile.py" "$@" || echo "no profile")"
		rm -f "$f"
	done
	rm -f "$out/perf-kallsyms"
}

: >"$raw"
rm -f "$out"/perf-* "$out/module_share.json"
status=0
left=("${names[@]}")
# A VM that dies must not cost what comes after; it fails the run all the same.
# What is measured again counts instead of what there was of it.
for try in 1 2 3; do
	measure "${left[@]}" && break
	status=$?
	left=("${left[@]:finished}")
	((try < 3 && ${#left[@]} > 0)) || break
	mv -f "$out/kernel.log" "$out/kernel-$try.log" 2>/dev/null || :
	say "the VM died (see $out/kernel-$try.log); booting again for ${left[*]}"
done
profiles
[ -s "$raw" ] || die "nothing was measured; see $log"
report "$raw"
exit "$status"
