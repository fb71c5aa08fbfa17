#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# mutants.sh - plant known bugs one at a time and prove that a test fails for
# each: tests that cannot fail prove nothing.
#
# usage: scripts/mutants.sh [--kernel SERIES] [NAME…]
#
# A mutant is tools/testing/vhost_tap/mutants/NN-name.patch; the README there
# says what stands above its diff. Every test that it names must pass without
# the bug and fail with it. A program that hangs or a VM that a mutant takes
# down counts as a failed test, and the VM is booted again for the rest.
# Needs "Timeout: SECONDS" above the diff if a test takes more than 60.
# The last line is "N passed, N failed, N skipped".
set -euo pipefail
. "$(dirname "$0")/lib.sh"

kernel=${VTAP_KERNELS[0]} names=()
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=${2:?}; shift 2 ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	-*)	die "unknown argument '$1'; try --help" ;;
	*)	names+=("$1"); shift ;;
	esac
done
need_kernel_name "$kernel"
cd "$VTAP_TREE"
dir=tools/testing/vhost_tap/mutants
out=$VTAP_OUT/mutants
log=$out/mutants.log
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

field()		# PATCH NAME: its lines, without the name
{
	sed -n "/^--- /q; s/^$2: *//p" "$1"
}

mutants=()
for p in "$dir"/*.patch; do
	[ -e "$p" ] || die "there is no mutant in $dir"
	name=$(basename "$p" .patch)
	[ ${#names[@]} = 0 ] || [[ " ${names[*]} " == *" $name "* ]] ||
		[[ " ${names[*]} " == *" ${name%%-*} "* ]] || continue
	[ -n "$(field "$p" Caught-by)" ] || die "$p names no test (Caught-by:)"
	mutants+=("$name")
done
[ ${#mutants[@]} -gt 0 ] || die "no mutant is named ${names[*]}"

vm=""
stop_vm()
{
	[ -z "$vm" ] || kill "$vm" 2>/dev/null
}
on_exit stop_vm
"$VTAP_TREE/scripts/deps.sh" test
need_pkgs patch
mkdir -p "$out"
out=$(cd "$out" && pwd -P)
take_lock "$out/.lock-run"
: >"$log"
echo "TAP version 13"
say "building the module without a bug, and the tests"
"$VTAP_TREE/scripts/build.sh" --kernel "$kernel" >/dev/null 2>>"$log" ||
	die "the build failed; see $log"
tests=$("$VTAP_TREE/scripts/selftests.sh" --kernel "$kernel" 2>>"$log") ||
	die "the tests do not build; see $log"

# One mutated tree for all: a patch goes in, its build is kept, the patch comes
# out again, and only what it touched is compiled anew.
src=$out/src
rm -rf "$src"
mkdir -p "$src/tools/testing"
cp -r Kbuild drivers include "$src/"
cp -r tools/testing/vhost_tap "$src/tools/testing/"
rm -rf "$out/ko"
mkdir -p "$out/ko"
cp "$VTAP_OUT/$kernel/modules/vhost_tap.ko" "$out/ko/none.ko"

# run_unit TREE INTO: the unit tests of a tree; output to a file. Each tree has
# its own objects.
run_unit()
{
	timeout 300 make -s --no-print-directory -C "$1/tools/testing/vhost_tap" \
		OUT="$out/unit-$(basename "$1")" check >"$2" 2>&1
}

# tap_says FILE TEST: is TEST's result in the TAP of FILE ok, failed or missing?
# TEST stands in whatever fixture and variants: one failure among them counts.
tap_says()
{
	local lines

	lines=$(grep -aE "^(not )?ok [0-9]+ .*\b${2//./\\.}( |\$)" "$1" |
		grep -aE "[. ]${2//./\\.}( |\$)" || :)
	case $lines in
	'')		echo missing ;;
	*'not ok'*)	echo failed ;;
	*)		[[ $lines == *SKIP* ]] && echo missing || echo ok ;;
	esac
}

# A job is one test that one mutant names, MUTANT/COUNT.
declare -A program test limit baseline line
unit="" jobs=()
for m in "${mutants[@]}"; do
	p=$dir/$m.patch
	of_mutant=()
	while read -r prog name; do
		j=$m/$((${#of_mutant[@]} + 1))
		of_mutant+=("$j")
		program[$j]=$prog
		test[$j]=$name
		limit[$j]=$(field "$p" Timeout)
	done < <(field "$p" Caught-by)
	say "planting $m"
	patch -s -p1 -d "$src" <"$p" >>"$log" 2>&1 || {
		result not_ok "$m: the patch no longer applies"
		# Half a patch would poison the rest.
		rm -rf "$src"/{drivers,include,tools/testing/vhost_tap}
		cp -r drivers include "$src/"
		cp -r tools/testing/vhost_tap "$src/tools/testing/"
		continue
	}
	if [[ " $(field "$p" Caught-by | tr '\n' ' ')" == *' unit'* ]]; then
		unit=1
		status=0
		run_unit "$src" "$out/unit-$m.out" || status=$?
		echo "$status" >"$out/unit-$m.status"
	fi
	if "$VTAP_TREE/scripts/build.sh" --kernel "$kernel" --tree "$src" \
		--out "$out/build" >/dev/null 2>>"$log"; then
		mv "$out/build/modules/vhost_tap.ko" "$out/ko/$m.ko"
		jobs+=("${of_mutant[@]}")
	else
		result not_ok "$m: does not build; see $log"
	fi
	patch -s -R -p1 -d "$src" <"$p" >>"$log" 2>&1
done

# passes FILE STATUS TEST: did TEST (or, unnamed, everything) pass?
passes()
{
	if [ -n "$3" ]; then
		[ "$(tap_says "$1" "$3")" = ok ]
	else
		[ "$2" = 0 ]
	fi
}

# judge JOB FILE STATUS: did the named test fail?
judge()
{
	local j=$1 says=failed what

	what="${j%/*}: ${program[$j]}${test[$j]:+ ${test[$j]}}"
	if [ -n "${test[$j]}" ]; then
		says=$(tap_says "$2" "${test[$j]}")
		# A program that dies or hangs prints no result: it failed too.
		[ "$says" != missing ] || [ "$3" -lt 124 ] || says=failed
	elif [ "$3" = 0 ]; then
		says=ok
	fi
	case $says in
	failed)	result ok "$what fails" ;;
	ok)	result not_ok "$what passes all the same: the mutant survives" ;;
	*)	tail -n 20 "$2" | sed 's/^/# /'
		result not_ok "$what gave no result (status $3)" ;;
	esac
}

if [ -n "$unit" ]; then
	say "running the unit tests without a bug"
	status=0
	run_unit "$VTAP_TREE" "$out/unit-none.out" || status=$?
	for j in "${jobs[@]}"; do
		[ "${program[$j]}" = unit ] || continue
		m=${j%/*}
		if passes "$out/unit-none.out" "$status" "${test[$j]}"; then
			judge "$j" "$out/unit-$m.out" "$(<"$out/unit-$m.status")"
		else
			result not_ok "$m: unit ${test[$j]} does not pass without the bug"
		fi
	done
fi

# In the VM: each named test once without a bug, then the mutants.
left=()
for j in "${jobs[@]}"; do
	[ "${program[$j]}" != unit ] || continue
	key="${program[$j]}${test[$j]:+ -t ${test[$j]}}"
	[ -z "${baseline[$key]:-}" ] || continue
	baseline[$key]=none/${#left[@]}
	line[none/${#left[@]}]="none/${#left[@]} $out/ko/none.ko 300 $key"
	left+=("none/${#left[@]}")
done
for j in "${jobs[@]}"; do
	[ "${program[$j]}" != unit ] || continue
	key="${program[$j]}${test[$j]:+ -t ${test[$j]}}"
	line[$j]="$j $out/ko/${j%/*}.ko ${limit[$j]:-60} $key"
	left+=("$j")
done

finish()	# JOB STATUS: one job is over
{
	local j=$1 base

	[ "${j%/*}" != none ] || return 0
	base=${baseline[${program[$j]}${test[$j]:+ -t ${test[$j]}}]}
	if passes "$out/run/$base.out" "$(<"$out/run/$base.status")" "${test[$j]}"; then
		judge "$j" "$out/run/$j.out" "$2"
	else
		tail -n 20 "$out/run/$base.out" | sed 's/^/# /'
		result not_ok "${j%/*}: ${program[$j]} ${test[$j]} does not pass without the bug"
	fi
}

rm -rf "$out/run"
while [ ${#left[@]} -gt 0 ]; do
	total=120 label="" before=${#left[@]}
	: >"$out/jobs"
	for j in "${left[@]}"; do
		echo "${line[$j]}" >>"$out/jobs"
		total=$((total + 20 + $(cut -d ' ' -f 3 <<<"${line[$j]}")))
	done
	exec {fd}< <(exec "$VTAP_TREE/scripts/vm.sh" --kernel "$kernel" \
		--modules "$VTAP_OUT/$kernel/modules" --log "$out/kernel.log" \
		--timeout "$total" -- "$VTAP_TREE/scripts/vm/run-mutants" \
		"$tests" "$out/jobs" 2>>"$log")
	vm=$!
	while IFS= read -r text <&"$fd"; do
		text=${text%$'\r'}
		printf '%s\n' "$text" >>"$log"
		case $text in
		'@@begin '*)
			label=${text#@@begin }
			say "running $label: $(cut -d ' ' -f 4- <<<"${line[$label]}")"
			mkdir -p "$out/run/${label%/*}"
			: >"$out/run/$label.out" ;;
		'@@end '*)
			status=${text##* }
			echo "$status" >"$out/run/$label.status"
			finish "$label" "$status"
			left=("${left[@]:1}")
			label="" ;;
		'@@'*)	;;
		*)	[ -z "$label" ] || printf '%s\n' "$text" >>"$out/run/$label.out" ;;
		esac
	done
	exec {fd}<&-
	wait "$vm" || :
	vm=""
	if [ -n "$label" ]; then
		say "the VM ended under $label"
		echo 124 >"$out/run/$label.status"
		finish "$label" 124
		left=("${left[@]:1}")
	elif [ ${#left[@]} = "$before" ]; then
		die "the VM ran nothing; see $log"
	fi
done

echo "1..$n"
say "took $((SECONDS - start)) s"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
