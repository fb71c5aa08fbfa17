#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# mutants.sh - plant known bugs one at a time and prove that a test fails for
# each: tests that cannot fail prove nothing.
#
# usage: scripts/mutants.sh [--kernel SERIES] [NAME…]
#
# A mutant is tools/testing/vhost_tap/mutants/NN-name.patch; the README there
# says what stands above its diff. Every test that it names must pass without
# the bug and fail with it. Programs of userspace (unit, fuzz:NAME) run here; the
# module is built and a VM booted only for mutants that name another one. A
# program that hangs or a VM that a mutant takes down counts as a failed test,
# and the VM is booted again for the rest.
# Those with a line "Kernel: NAME" run on that kernel only, and alone there.
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
slow=1 patience=1
if is_built_kernel "$kernel"; then
	slow=8 patience=4
fi

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

# Does that program run here, and not in the VM?
in_userspace()	# PROGRAM
{
	[[ $1 == unit || $1 == fuzz:* ]]
}

mutants=() vm_needed="" fuzzers_needed=""
for p in "$dir"/*.patch; do
	[ -e "$p" ] || die "there is no mutant in $dir"
	name=$(basename "$p" .patch)
	[ ${#names[@]} = 0 ] || [[ " ${names[*]} " == *" $name "* ]] ||
		[[ " ${names[*]} " == *" ${name%%-*} "* ]] || continue
	where=$(field "$p" Kernel)
	if is_built_kernel "$kernel" || [ -n "$where" ]; then
		[ "$where" = "$kernel" ] || continue
	fi
	[ -n "$(field "$p" Caught-by)" ] || die "$p names no test (Caught-by:)"
	mutants+=("$name")
	while read -r prog _; do
		in_userspace "$prog" || vm_needed=1
		[[ $prog != fuzz:* ]] || fuzzers_needed=1
	done < <(field "$p" Caught-by)
done
[ ${#mutants[@]} -gt 0 ] || die "no mutant ${names[*]:+is named ${names[*]} and }runs on $kernel"

vm=""
stop_vm()
{
	[ -z "$vm" ] || kill "$vm" 2>/dev/null
}
on_exit stop_vm
"$VTAP_TREE/scripts/deps.sh" build ${vm_needed:+test} ${fuzzers_needed:+fuzz}
need_pkgs patch
mkdir -p "$out"
out=$(cd "$out" && pwd -P)
take_lock "$out/.lock-run"
: >"$log"
echo "TAP version 13"
if [ -n "$vm_needed" ]; then
	say "building the module without a bug, and the tests"
	"$VTAP_TREE/scripts/build.sh" --kernel "$kernel" >/dev/null 2>>"$log" ||
		die "the build failed; see $log"
	tests=$("$VTAP_TREE/scripts/selftests.sh" --kernel "$kernel" 2>>"$log") ||
		die "the tests do not build; see $log"
fi

# One mutated tree for all: a patch goes in, its build is kept, the patch comes
# out again, and only what it touched is compiled anew.
src=$out/src
rm -rf "$src"
mkdir -p "$src/tools/testing"
cp -r Kbuild drivers include "$src/"
cp -r tools/testing/vhost_tap "$src/tools/testing/"
rm -rf "$out/ko"
mkdir -p "$out/ko"
[ -z "$vm_needed" ] || cp "$VTAP_OUT/$kernel/modules/vhost_tap.ko" "$out/ko/none.ko"

in_tests()	# TREE MAKE-ARGUMENTS…: each tree has its own objects
{
	local tree=$1

	shift
	timeout 300 make -s --no-print-directory -C "$tree/tools/testing/vhost_tap" \
		OUT="$out/unit-$(basename "$tree")" "$@"
}

# run_here TREE PROGRAM NAME: a program of userspace, output to out/run-here/NAME.out
# and its status beside it. A build that fails is no test that fails: false.
run_here()
{
	local status=0 target=check

	[[ $2 != fuzz:* ]] || target=once-${2#fuzz:}
	mkdir -p "$out/run-here/$2"
	in_tests "$1" "build-$target" >"$out/run-here/$2/$3.out" 2>&1 || {
		tail -n 20 "$out/run-here/$2/$3.out" | sed 's/^/# /'
		return 1
	}
	in_tests "$1" "$target" >"$out/run-here/$2/$3.out" 2>&1 || status=$?
	echo "$status" >"$out/run-here/$2/$3.status"
}
rm -rf "$out/run-here"

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
jobs=() here=()
for m in "${mutants[@]}"; do
	p=$dir/$m.patch
	in_vm=() of_mutant=() k=0
	while read -r prog name; do
		j=$m/$((k += 1))
		if in_userspace "$prog"; then of_mutant+=("$j"); else in_vm+=("$j"); fi
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
	for j in "${of_mutant[@]}"; do
		prog=${program[$j]}
		if [ -e "$out/run-here/$prog/$m.status" ] || run_here "$src" "$prog" "$m"; then
			here+=("$j")
		else
			result not_ok "$m: $prog does not build"
		fi
	done
	if [ ${#in_vm[@]} = 0 ]; then
		:
	elif "$VTAP_TREE/scripts/build.sh" --kernel "$kernel" --tree "$src" \
		--out "$out/build" >/dev/null 2>>"$log"; then
		mv "$out/build/modules/vhost_tap.ko" "$out/ko/$m.ko"
		jobs+=("${in_vm[@]}")
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

for j in "${here[@]}"; do
	prog=${program[$j]} m=${j%/*} base=$out/run-here/${program[$j]}/none
	if [ ! -e "$base.status" ]; then
		say "running $prog without a bug"
		run_here "$VTAP_TREE" "$prog" none || die "$prog does not build without a bug"
	fi
	if passes "$base.out" "$(<"$base.status")" "${test[$j]}"; then
		judge "$j" "$out/run-here/$prog/$m.out" "$(<"$out/run-here/$prog/$m.status")"
	else
		result not_ok "$m: $prog ${test[$j]} does not pass without the bug"
	fi
done

# In the VM: each named test once without a bug, then the mutants.
left=()
for j in "${jobs[@]}"; do
	key="${program[$j]}${test[$j]:+ -t ${test[$j]}}"
	[ -z "${baseline[$key]:-}" ] || continue
	baseline[$key]=none/${#left[@]}
	line[none/${#left[@]}]="none/${#left[@]} $out/ko/none.ko $((300 * patience)) $key"
	left+=("none/${#left[@]}")
done
for j in "${jobs[@]}"; do
	key="${program[$j]}${test[$j]:+ -t ${test[$j]}}"
	line[$j]="$j $out/ko/${j%/*}.ko $((${limit[$j]:-60} * patience)) $key"
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
		--timeout "$total" -- env VTAP_SLOW=$slow \
		VTAP_WATCHDOG_MS=$((5000 * patience)) "$VTAP_TREE/scripts/vm/run-mutants" \
		"$tests" "$out/jobs" 2>>"$log")
	vm=$!
	while IFS= read -r text <&"$fd"; do
		text=${text%$'\r'}
		printf '%s\n' "$text" >>"$log"
		case $text in
		'@@begin '*)
			label=${text#@@begin } began=$SECONDS
			say "running $label: $(cut -d ' ' -f 4- <<<"${line[$label]}")"
			mkdir -p "$out/run/${label%/*}"
			: >"$out/run/$label.out" ;;
		'@@end '*)
			status=${text##* }
			say "$label: $((SECONDS - began)) s"
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
