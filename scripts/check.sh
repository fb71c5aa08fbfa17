#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# check.sh - run the tests and report them as TAP.
#
# usage: scripts/check.sh [--kernel SERIES | --all] [--tests "NAME…"]
#                         [--module NAME] [--timeout SEC]
#
#   --kernel SERIES  test on that kernel (6.12)
#   --all            on every supported kernel
#   --tests "NAME…"  only those: kselftest programs, `unit`, `build`, `install`,
#                    `icount`
#   --module NAME    test another module than ours, for instance vhost_net
#   --timeout SEC    for a program that does not say (300)
#
# What runs: the build itself (W=1, no warning allowed); the ring code's unit
# tests here; then, in the host VM, the installation and each kselftest program,
# with the module loaded and unloaded around it. A VM that dies is booted again
# for the rest. On the kernel of the record (icount.json), instructions a packet
# are compared with it. On a kernel that checks itself (6.12-debug, 6.12-race), which is slow, tests
# of mere volume do an eighth of it ($VTAP_SLOW says otherwise); unit tests, installation
# and instructions are left out, and on 6.12-debug leak_test comes last, whatever was
# picked.
# Output of it all: out/SERIES/check.log, kernel log beside it.
# The last line is "N passed, N failed, N skipped".
set -euo pipefail
. "$(dirname "$0")/lib.sh"

kernels=("${VTAP_KERNELS[0]}") only="" module=vhost_tap limit=300
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernels=("${2:?}"); shift 2 ;;
	--all)	kernels=("${VTAP_KERNELS[@]}"); shift ;;
	--tests) only=${2:?}; shift 2 ;;
	--module) module=${2:?}; shift 2 ;;
	--timeout) limit=${2:?}; shift 2 ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	*)	die "unknown argument '$1'; try --help" ;;
	esac
done

n=0 passed=0 failed=0 skipped=0

# result ok|not_ok NAME [SKIP-REASON]
result()
{
	n=$((n + 1))
	case $1 in
	ok)	if [ $# -gt 2 ]; then
			skipped=$((skipped + 1))
			echo "ok $n $2 # SKIP $3"
		else
			passed=$((passed + 1))
			echo "ok $n $2"
		fi ;;
	*)	failed=$((failed + 1))
		echo "not ok $n $2" ;;
	esac
}

wanted()
{
	[ -z "$only" ] || [[ " $only " == *" $1 "* ]]
}

# tap PROGRAM: reads one program's output, reports each of its results.
# Sets seen and bad: how many results there were, how many of them failures.
tap_reset()
{
	seen=0 bad=0 plan="" before=()
}

# show_before: what a program said since its last result, the last lines of it.
show_before()
{
	local from=$((${#before[@]} > 40 ? ${#before[@]} - 40 : 0))

	[ ${#before[@]} = 0 ] || printf '# %s\n' "${before[@]:from}"
}

tap_line()	# PROGRAM LINE
{
	local prog=$1 line=$2 name

	if [[ $line =~ ^(not\ )?ok\ ([0-9]+)\ *-?\ *(.*)$ ]]; then
		seen=$((seen + 1))
		name=${BASH_REMATCH[3]}
		if [ -n "${BASH_REMATCH[1]}" ] && [[ ! $name =~ \#\ *(TODO|SKIP) ]]; then
			bad=$((bad + 1))
			show_before
			result not_ok "$prog: $name"
		elif [[ $name =~ ^(.*[^ ])?\ *\#\ *SKIP\ *(.*)$ ]]; then
			result ok "$prog: ${BASH_REMATCH[1]:-all}" "${BASH_REMATCH[2]}"
		else
			result ok "$prog: $name"
		fi
		before=()
	elif [[ $line =~ ^1\.\.([0-9]+) ]]; then
		# A command may run several programs, each with a plan of its own.
		plan=$((${plan:-0} + BASH_REMATCH[1]))
		if [ "${BASH_REMATCH[1]}" = 0 ] && [[ $line =~ SKIP\ *(.*)$ ]]; then
			result ok "$prog" "${BASH_REMATCH[1]}"
			seen=$((seen + 1))
			plan=$((plan + 1))
		fi
	elif [ -n "$line" ] && [[ ! $line =~ ^(TAP\ version|\#\ (PASSED|Totals|\ RUN|\ \ +OK)) ]]; then
		before+=("${line#\# }")
	fi
}

tap_end()	# PROGRAM STATUS
{
	local prog=$1 status=$2

	if [ "$status" = 4 ] && [ "$bad" = 0 ]; then
		# kselftest's word for "skipped"
		[ "$seen" -gt 0 ] || result ok "$prog" "${before[*]: -1}"
	elif [ "$status" != 0 ] && [ "$bad" = 0 ]; then
		show_before
		result not_ok "$prog: ended with status $status"
	elif [ -n "$plan" ] && [ "$plan" != "$seen" ]; then
		show_before
		result not_ok "$prog: planned $plan results, gave $seen"
	elif [ "$seen" = 0 ]; then
		result ok "$prog"
	fi
}

# run_tap NAME COMMAND...: a program that runs here and prints TAP, or just
# an exit status.
run_tap()
{
	local name=$1 line status=0

	shift
	tap_reset
	"$@" >"$work/one.out" 2>&1 || status=$?
	cat "$work/one.out" >>"$log"
	while IFS= read -r line; do
		tap_line "$name" "$line"
	done <"$work/one.out"
	tap_end "$name" "$status"
}

check_build()
{
	if "$VTAP_TREE/scripts/build.sh" --kernel "$kernel" W=1 \
		>"$work/build.out" 2>&1; then
		cat "$work/build.out" >>"$log"
		if grep -E 'warning:|Warning' "$work/build.out" | sed 's/^/# /' | head -n 20 | grep .; then
			result not_ok "$kernel: builds without a warning"
		elif wanted build; then
			result ok "$kernel: builds without a warning"
		fi
	else
		cat "$work/build.out" >>"$log"
		tail -n 40 "$work/build.out" | sed 's/^/# /'
		result not_ok "$kernel: builds"
		return 1
	fi
}

# check_install: what `make install` puts where, and that uninstall takes it all
# away again; into a folder, from the copy that was built.
check_install()
{
	local dest=$work/dest rel f rc=0

	rel=$(<"$kernel_dir/release")
	rsync -a --exclude /out --exclude .git --exclude '*.o' --exclude '*.ko' \
		--exclude '.*.cmd' "$VTAP_TREE/Makefile" "$VTAP_TREE/scripts" \
		"$VTAP_TREE/dkms.conf" "$out/tree/"
	make -C "$out/tree" install KDIR="$kernel_dir/kdir" DESTDIR="$dest" \
		>"$work/install.out" 2>&1 || rc=$?
	cat "$work/install.out" >>"$log"
	for f in etc/modprobe.d/vhost_tap.conf usr/local/sbin/vhost-tap \
		 usr/local/share/man/man8/vhost-tap.8; do
		[ -e "$dest/$f" ] || { echo "# $f is missing"; rc=1; }
	done
	compgen -G "$dest/lib/modules/$rel/updates/drivers/vhost_tap/vhost_tap.ko*" >/dev/null ||
		compgen -G "$dest/lib/modules/$rel/updates/vhost_tap.ko*" >/dev/null ||
		{ echo "# the module is missing"; rc=1; }
	[ "$rc" = 0 ] || tail -n 20 "$work/install.out" | sed 's/^/# /'
	if [ "$rc" = 0 ]; then result ok "$kernel: make install"; else result not_ok "$kernel: make install"; fi

	rc=0
	make -C "$out/tree" uninstall KDIR="$kernel_dir/kdir" DESTDIR="$dest" \
		>"$work/install.out" 2>&1 || rc=$?
	cat "$work/install.out" >>"$log"
	find "$dest" -type f ! -name 'modules.*' | sed 's/^/# left: /' | tee "$work/left"
	if [ "$rc" = 0 ] && [ ! -s "$work/left" ]; then
		result ok "$kernel: make uninstall"
	else
		tail -n 20 "$work/install.out" | sed 's/^/# /'
		result not_ok "$kernel: make uninstall"
	fi
}

# run_vm PROGRAM...: in the VM; boots again when one takes it down.
run_vm()
{
	local left=("$@") prog line rest rc fd splat leftover timeout logged stuck
	local before_vm=$failed

	while [ ${#left[@]} -gt 0 ]; do
		prog="" stuck=""
		exec {fd}< <(exec "$VTAP_TREE/scripts/vm.sh" --kernel "$kernel" \
			"${vm_modules[@]}" --log "$out/check-kernel.log.new" \
			--timeout $((60 + (limit * patience + 20) * ${#left[@]})) \
			-- env VTAP_MODULE="$module" VTAP_TOOL="$tool" VTAP_SLOW="$slow" \
			VTAP_CONF="$VTAP_TREE/scripts/modprobe.conf" \
			"$VTAP_TREE/scripts/vm/run-tests" "$out/kselftest" \
			"$((limit * patience))" "${left[@]}" 2>>"$log")
		vm=$!
		while IFS= read -r line <&"$fd"; do
			line=${line%$'\r'}
			printf '%s\n' "$line" >>"$log"
			case $line in
			'@@begin '*)
				prog=${line#@@begin }
				say "$kernel: $prog"
				splat="" leftover="" timeout="" stuck="" logged=()
				tap_reset ;;
			'@@timeout '*)	timeout=${line#@@timeout } ;;
			'@@leftover '*)	leftover=${line#@@leftover } ;;
			'@@log '*)	logged+=("${line#@@log }") ;;
			'@@splat')	splat=1 ;;
			'@@stuck')	stuck=1 ;;
			'@@end '*)
				rest=${line#@@end "$prog" }
				if [ -n "$timeout" ]; then
					show_before
					result not_ok "$kernel: $prog: did not end within $timeout s"
				else
					tap_end "$kernel: $prog" "$rest"
				fi
				[ -z "$leftover" ] ||
					result not_ok "$kernel: $prog: the module stays in use afterwards ($leftover)"
				if [ -n "$splat" ]; then
					printf '# %s\n' "${logged[@]}"
					result not_ok "$kernel: $prog: the kernel complained"
				fi
				left=("${left[@]:1}")
				prog="" ;;
			'@@done')	;;
			*)	[ -z "$prog" ] || tap_line "$kernel: $prog" "$line" ;;
			esac
		done
		exec {fd}<&-
		rc=0
		wait "$vm" || rc=$?
		vm=""
		cat "$out/check-kernel.log.new" >>"$out/check-kernel.log" 2>/dev/null || :
		if [ ${#left[@]} = 0 ]; then
			# Each said how it ended; the log of it all may still say more.
			if [ "$rc" != 0 ] && [ "$failed" = "$before_vm" ]; then
				tail -n 20 "$log" | sed 's/^/# /'
				result not_ok "$kernel: the kernel complained (status $rc)"
			fi
			break
		fi
		# It ended early.
		tail -n 30 "$out/check-kernel.log.new" 2>/dev/null | sed 's/^/# /'
		if [ -n "$prog" ] && [ -n "$stuck" ]; then
			printf '# %s\n' "${logged[@]}"
			result not_ok "$kernel: $prog: hangs in the kernel"
		else
			result not_ok "$kernel: ${left[0]}: the VM died or hung (status $rc)"
		fi
		left=("${left[@]:1}")
	done
	rm -f "$out/check-kernel.log.new"
}

check_kernel()
{
	kernel=$1
	need_kernel_name "$kernel"
	kernel_dir=$("$VTAP_TREE/scripts/kernel.sh" get "$kernel") || {
		# A suite goes one day; the other kernels are tested all the same.
		[ $? = "$VTAP_GONE" ] || die "there is no kernel $kernel (see above)"
		result ok "$kernel" "no Debian archive within reach offers its packages"
		return 0
	}
	out=$VTAP_OUT/$kernel
	mkdir -p "$out"
	log=$out/check.log
	: >"$log"
	: >"$out/check-kernel.log"
	programs=() vm_modules=() tool=""
	slow=1 patience=1
	if is_built_kernel "$kernel"; then
		slow=${VTAP_SLOW:-8} patience=4
	fi

	if [ "$module" = vhost_tap ]; then
		check_build || return 0
		vm_modules=(--modules "$out/modules")
	fi
	if ! "$VTAP_TREE/scripts/selftests.sh" --kernel "$kernel" >"$work/tests.out" 2>&1; then
		cat "$work/tests.out" >>"$log"
		tail -n 40 "$work/tests.out" | sed 's/^/# /'
		result not_ok "$kernel: the kselftests build"
		return 0
	fi
	cat "$work/tests.out" >>"$log"
	tool=$out/tree/tools/vhost_tap/vhost-tap
	mapfile -t programs <"$out/kselftest/programs"
	if [ "$module" = vhost_tap ]; then
		cp "$VTAP_TREE/scripts/vm/install_test" "$out/kselftest/"
		programs+=(install_test)
		is_built_kernel "$kernel" || ! wanted install || check_install
	fi
	if [[ $kernel == *-debug ]]; then
		cp "$VTAP_TREE/scripts/vm/leak_test" "$out/kselftest/"
		programs+=(leak_test)
	fi

	local run=() p
	for p in "${programs[@]}"; do
		if wanted "$p" || [ "$p" = leak_test ]; then
			run+=("$p")
		fi
	done
	[ ${#run[@]} = 0 ] || run_vm "${run[@]}"
	! wanted icount || check_icount
}

# check_icount: has the way of a packet become longer?
check_icount()
{
	local record=$VTAP_TREE/tools/testing/vhost_tap/icount.json

	if [ "$module" != vhost_tap ] || [ ! -e "$record" ] ||
	   ! grep -q "\"kernel\": \"$kernel\"" "$record"; then
		return 0
	fi
	say "$kernel: instructions a packet"
	run_tap "$kernel: icount" "$VTAP_TREE/scripts/bench-icount.sh" --check \
		--kernel "$kernel" --module "$out/modules" --programs "$out/kselftest"
}

work=$(mktemp -d)
on_exit "rm -rf '$work'"
vm=""
stop_vm()
{
	[ -z "$vm" ] || kill "$vm" 2>/dev/null
}
on_exit stop_vm
"$VTAP_TREE/scripts/deps.sh" test icount
mkdir -p "$VTAP_OUT"
start=$SECONDS
echo "TAP version 13"
if wanted unit && { [ -n "$only" ] || ! is_built_kernel "${kernels[0]}"; } && [ -e "$VTAP_TREE/tools/testing/vhost_tap/Makefile" ]; then
	log=$VTAP_OUT/unit.log
	: >"$log"
	say "unit tests of the ring code"
	run_tap unit make -s --no-print-directory -C "$VTAP_TREE/tools/testing/vhost_tap" OUT="$VTAP_OUT/unit" check
fi
for k in "${kernels[@]}"; do
	check_kernel "$k"
done
echo "1..$n"
say "took $((SECONDS - start)) s"
if [ "$n" = 0 ]; then
	say "nothing ran${only:+: no test is named $only}"
	failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
