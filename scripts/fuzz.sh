#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# fuzz.sh - fuzz the portable files of the module in userspace, with libFuzzer,
# AddressSanitizer and UBSan, and see how much of them tests and corpus reach.
#
# usage: scripts/fuzz.sh [--seconds N] [--gate PERCENT] [NAME…]
#
#   --seconds N      how long each fuzzer runs (60); so many run at a time as
#                    there are processors
#   --gate PERCENT   lines of each portable file that the unit tests and the
#                    corpus must reach (95)
#   NAME             a fuzzer: ring, mem, msg (all)
#
# The fuzzers and their corpus are in tools/testing/vhost_tap; msg runs on the IOTLB
# library of Debian's kernel source. What they find new stays in
# out/fuzz/NAME/corpus, and the next run goes on from there. A result is a fuzzer
# that ran its time and found nothing, or a file's coverage. What a fuzzer stumbles
# over is kept as out/fuzz/NAME-crash-… (or -timeout-, -oom-).
# The last line is "N passed, N failed, N skipped".
set -euo pipefail
. "$(dirname "$0")/lib.sh"

seconds=60 gate=95 names=()
while [ $# -gt 0 ]; do
	case $1 in
	--seconds) seconds=${2:?}; shift 2 ;;
	--gate)	gate=${2:?}; shift 2 ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	-*)	die "unknown argument '$1'; try --help" ;;
	*)	names+=("$1"); shift ;;
	esac
done
[[ $seconds =~ ^[1-9][0-9]*$ ]] || die "--seconds wants a number, not '$seconds'"

dir=$VTAP_TREE/tools/testing/vhost_tap
out=$VTAP_OUT/fuzz
start=$SECONDS
n=0 passed=0 failed=0

result()	# ok|not_ok WORDS
{
	n=$((n + 1))
	if [ "$1" = ok ]; then
		passed=$((passed + 1))
		echo "ok $n $2"
	else
		failed=$((failed + 1))
		echo "not ok $n $2"
	fi
}

in_dir()	# MAKE-ARGUMENTS…
{
	make -s --no-print-directory -C "$dir" OUT="$out/build" "$@"
}

"$VTAP_TREE/scripts/deps.sh" fuzz fetch
kernel_dir=$("$VTAP_TREE/scripts/kernel.sh" get "${VTAP_KERNELS[0]}")
mkdir -p "$out/build"
take_lock "$out/.lock-run"
mapfile -t known < <(in_dir print-fuzzers)
[ ${#names[@]} -gt 0 ] || names=("${known[@]}")
for f in "${names[@]}"; do
	[[ " ${known[*]} " == *" $f "* ]] || die "no fuzzer is named '$f'; there are: ${known[*]}"
done

echo "TAP version 13"
say "building the fuzzers"
run_child make -s --no-print-directory -j"$(nproc)" -C "$dir" OUT="$out/build" \
	KSRC="$kernel_dir/src" fuzzers replays >"$out/build.log" 2>&1 || {
	tail -n 40 "$out/build.log" >&2
	die "the fuzzers do not build; see $out/build.log"
}

# Those that run: PID of each.
declare -A pid=() began=()
stop_fuzzers()
{
	local f

	for f in "${!pid[@]}"; do
		kill "${pid[$f]}" 2>/dev/null
	done
}
on_exit stop_fuzzers

launch()	# NAME
{
	local f=$1

	mkdir -p "$out/$f/corpus" "$out/$f/seeds"
	rm -f "$out/$f/seeds"/*
	"$out/build/fuzz_$f" -x "$out/$f/seeds" "$dir/corpus/$f.txt"
	"$out/build/libfuzzer/fuzz_$f" -max_total_time="$seconds" -max_len=4096 \
		-timeout=60 -rss_limit_mb=4096 -print_final_stats=1 \
		-artifact_prefix="$out/$f-" "$out/$f/corpus" "$out/$f/seeds" \
		>"$out/$f.log" 2>&1 &
	pid[$f]=$!
	began[$f]=$SECONDS
}

finish()	# NAME
{
	local f=$1 rc=0 runs rate kept file

	wait "${pid[$f]}" || rc=$?
	unset "pid[$f]"
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$f.log")
	rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$out/$f.log")
	kept=$(find "$out/$f/corpus" "$out/$f/seeds" -type f | wc -l)
	if [ "$rc" = 0 ] && grep -q '^Done ' "$out/$f.log"; then
		result ok "fuzz_$f: ${runs:-?} executions, ${rate:-?} a second, $((SECONDS - began[$f])) s, $kept inputs"
		return
	fi
	grep -vE '^(#[0-9]+|".*# Uses|INFO:|stat::)' "$out/$f.log" | tail -n 40 | sed 's/^/# /'
	file=$(sed -n 's/.*Test unit written to //p' "$out/$f.log" | tail -n 1)
	if [ -n "$file" ]; then
		cat <<-END
		# The input is kept: $file
		# again:    $out/build/fuzz_$f $file
		# shorter:  $out/build/libfuzzer/fuzz_$f -minimize_crash=1 -max_total_time=60 $file
		# for good: $out/build/fuzz_$f -p $file
		#           and add that line, under a name with a dash in it, to corpus/$f.txt
		END
	fi
	result not_ok "fuzz_$f: found something after ${runs:-?} executions, or died (status $rc); see $out/$f.log"
}

left=("${names[@]}")
next=$((SECONDS + 10))
while [ ${#left[@]} -gt 0 ] || [ ${#pid[@]} -gt 0 ]; do
	while [ ${#left[@]} -gt 0 ] && [ ${#pid[@]} -lt "$(nproc)" ]; do
		say "fuzz_${left[0]} for $seconds s"
		launch "${left[0]}"
		left=("${left[@]:1}")
	done
	# Whichever ends first; a second is short for something that takes many.
	sleep 1 &
	wait "$!"
	for f in "${!pid[@]}"; do
		kill -0 "${pid[$f]}" 2>/dev/null || finish "$f"
	done
	if [ "$SECONDS" -ge "$next" ]; then
		next=$((SECONDS + 10))
		for f in "${!pid[@]}"; do
			say "fuzz_$f: $((SECONDS - began[$f])) s, $(grep -aE '^#[0-9]+' "$out/$f.log" |
				tail -n 1 | tr -s '\t ' ' ' | cut -d ' ' -f 1-8)"
		done
	fi
done

# What the unit tests and the corpus in the tree reach; what was found today is
# for the next corpus. Each file that the rules call portable must be among them.
say "coverage of the portable files"
if run_child make -s --no-print-directory -j"$(nproc)" -C "$dir" OUT="$out/build" coverage \
	>"$out/coverage" 2>"$out/coverage.log"; then
	portable=$(sed -n "s/^PORTABLE='\(.*\)'$/\1/p" "$VTAP_TREE/scripts/style.sh")
	[ -n "$portable" ] || die "scripts/style.sh does not say what is portable"
	while IFS= read -r file; do
		file=$(basename "$file")
		lines=$(sed -n "s/^$file: Lines executed:\([0-9.]*\)% of \([0-9]*\)$/\1 \2/p" "$out/coverage")
		if [ -z "$lines" ]; then
			result not_ok "$file: not among what is compiled in userspace"
		elif awk -v got="${lines% *}" -v want="$gate" 'BEGIN { exit !(got >= want) }'; then
			result ok "$file: ${lines% *} % of ${lines#* } lines"
		else
			# the lines that nobody reached
			(cd "$dir" && gcov -t -o "$out/build/cov" "$out/build/cov/${file%.c}.gcda") \
				2>/dev/null | sed -n '/^ *#####:/{s/^/# /;p}' | head -n 30 || :
			result not_ok "$file: ${lines% *} % of ${lines#* } lines, and not $gate %"
		fi
	done < <(cd "$VTAP_TREE/drivers/vhost_tap" && set -f && for g in $portable; do
		[[ $g != *.c ]] || find . -maxdepth 1 -name "$g"
	done | sort -u)
else
	tail -n 20 "$out/coverage.log" "$out/coverage" | sed 's/^/# /'
	result not_ok "the portable files build and pass their tests with coverage"
fi

echo "1..$n"
say "took $((SECONDS - start)) s"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
