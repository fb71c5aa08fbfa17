#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# vm.sh - run a command as root in the host VM: a QEMU machine with a Debian
# kernel whose root is this machine's root, read-only below a tmpfs.
#
# usage: scripts/vm.sh [OPTION...] -- COMMAND [ARG...]
#        scripts/vm.sh [OPTION...] --shell
#        scripts/vm.sh --accel          print what it would use: kvm or tcg
#
#   --kernel SERIES  kernel to boot (6.12)
#   --modules DIR    put DIR/*.ko into the VM's lib/modules/RELEASE/updates, so
#                    that modprobe finds them
#   --share DIR      DIR is writable in the VM, at the same path; may be repeated
#   --log FILE       where the kernel log goes (out/SERIES/vm.log)
#   --timeout SEC    ends the run that many seconds after the command began (600)
#   --mem MB         memory (2048; 3072 where the kernel keeps a shadow of it)
#   --smp N          processors (2)
#   --cpu MODEL      processor to emulate (max, but without the fast string
#                    operations, which emulation does byte by byte); KVM has
#                    the machine's own
#   --icount         emulate one processor on which an instruction takes one
#                    nanosecond, whatever it does and however loaded this
#                    machine is: CPU times are numbers of instructions
#   --append WORDS   more kernel parameters
#   --qemu WORD      one more argument for QEMU; may be repeated
#   --gdb            QEMU's gdb stub on 127.0.0.1:1234, address randomisation off
#   --shell          an interactive shell instead of a command
#
# Streams the command's output and returns its exit status; 124 after a
# timeout, 99 when the VM died, 98 when the command succeeded but the kernel
# log holds an oops, warning, lockdep or sanitizer report or a hung task. A boot
# that dies before the command began is tried again, twice.
#
# KVM is used when a probe boot reaches userspace in a few seconds (the answer
# is remembered until the machine reboots), else emulation; VTAP_ACCEL=kvm or
# tcg decides it by hand.
#
# Inside: the working directory and every path of this machine are there;
# writes land in the tmpfs, except below --share and $VTAP_SHARE. /dev is
# devtmpfs; proc, sysfs, debugfs, tracefs, cgroup2 and bpf are mounted; lo is
# up; modprobe works on the kernel's own modules.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$VTAP_TREE/scripts/vm/common"

BOOT_LIMIT=180	# seconds to the command's start; a loaded machine is slow
BOOT_TRIES=3

kernel=${VTAP_KERNELS[0]} modules="" log="" limit=600 mem="" smp=2
cpu=max,erms=off,fsrm=off append="" gdb="" shell="" icount="" ask="" shares=()
qemu_more=()
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=${2:?}; shift 2 ;;
	--modules) modules=$(cd "${2:?}" && pwd -P); shift 2 ;;
	--share) shares+=("$(cd "${2:?}" && pwd -P)"); shift 2 ;;
	--log)	log=${2:?}; shift 2 ;;
	--timeout) limit=${2:?}; shift 2 ;;
	--mem)	mem=${2:?}; shift 2 ;;
	--smp)	smp=${2:?}; shift 2 ;;
	--cpu)	cpu=${2:?}; shift 2 ;;
	--icount) icount=1; shift ;;
	--append) append+=" ${2:?}"; shift 2 ;;
	--qemu)	qemu_more+=("${2:?}"); shift 2 ;;
	--gdb)	gdb=1; shift ;;
	--shell) shell=1; shift ;;
	--accel) ask=1; shift ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	--)	shift; break ;;
	*)	die "unknown argument '$1'; try --help" ;;
	esac
done
[ $# -gt 0 ] || [ -n "$shell$ask" ] || die "no command; try --help"
need_kernel_name "$kernel"

# A kernel that checks itself boots slowly. It stops at the first warning, unless races
# are what it looks for: those of others are no matter.
if is_built_kernel "$kernel"; then
	mem=${mem:-3072}
	BOOT_LIMIT=$((BOOT_LIMIT * 3))
	[[ $kernel == *-race ]] || append=" panic_on_warn=1$append"
fi
mem=${mem:-2048}

"$VTAP_TREE/scripts/deps.sh" vm
kernel_dir=$("$VTAP_TREE/scripts/kernel.sh" get "$kernel")
rel=$(<"$kernel_dir/release")
log=${log:-$VTAP_OUT/$kernel/vm.log}
mkdir -p "$(dirname "$log")" "$VTAP_CACHE/vm"

# The run's folder lies in the cache because modules are hard-linked into it.
run=$(mktemp -d "$VTAP_CACHE/vm/run.XXXXXX")
qemu_pid=
on_exit "rm -rf '$run'"
on_exit 'stop_qemu'
mkdir "$run/share" "$run/initramfs"

stop_qemu()
{
	local i

	[ -n "$qemu_pid" ] || return 0
	kill "$qemu_pid" 2>/dev/null || return 0
	for i in 1 2 3 4 5 6 7 8 9 10; do
		kill -0 "$qemu_pid" 2>/dev/null || return 0
		sleep 0.2
	done
	kill -9 "$qemu_pid" 2>/dev/null || :
}

# with_modules: a hard-linked copy of the kernel's modules plus ours, indexed.
with_modules()
{
	local d=$run/lib/modules

	mkdir -p "$d"
	cp -al "$kernel_dir/lib/modules/$rel" "$d/"
	mkdir -p "$d/$rel/updates"
	cp "$modules"/*.ko "$d/$rel/updates/" ||
		die "no module in $modules; run: make"
	depmod -b "$run" "$rel"
}

# make_initramfs: static busybox, the modules that reach the root, and init.
make_initramfs()
{
	local d=$run/initramfs n=0 kind path rest

	mkdir -p "$d"/{bin,dev,proc,sys,m,new}
	cp /bin/busybox "$d/bin/"
	while read -r kind path rest; do
		[ "$kind" = insmod ] || continue
		[ ! -e "$d/m/.have-${path##*/}" ] || continue
		: >"$d/m/.have-${path##*/}"
		n=$((n + 1))
		cp "$path" "$d/m/$((n + 100))-${path##*/}"
	done < <(for rest in virtio_pci 9pnet_virtio 9p overlay virtio_console; do
			modprobe -C /dev/null -d "$kernel_dir" -S "$rel" \
				--show-depends "$rest"
		done)
	rm -f "$d"/m/.have-*
	cp "$VTAP_TREE/scripts/vm/init" "$d/init"
	chmod 755 "$d/init"
	(cd "$d" && find . | cpio -o -H newc --quiet) >"$run/initramfs.cpio"
}

# accel: print kvm or tcg.
accel()
{
	local verdict=$VTAP_CACHE/vm/accel id seen

	if [ -n "${VTAP_ACCEL:-}" ]; then
		echo "$VTAP_ACCEL"
		return
	fi
	id="$(</proc/sys/kernel/random/boot_id) $(id -u)"
	if [ -r "$verdict" ] && read -r seen <"$verdict" &&
	   [ "${seen% *}" = "$id" ]; then
		echo "${seen##* }"
		return
	fi
	seen=tcg
	if [ -r /dev/kvm ] && [ -w /dev/kvm ]; then
		say "probing KVM"
		timeout -k 2 10 qemu-system-x86_64 -nodefaults -no-user-config \
			-display none -monitor none -no-reboot -m 512 -smp 2 \
			-accel kvm -cpu host -kernel "$kernel_dir/vmlinuz" \
			-initrd "$run/initramfs.cpio" -serial "file:$run/probe" \
			-append "console=ttyS0 quiet panic=-1 vtap.probe" \
			</dev/null >"$run/probe.out" 2>&1 || :
		if grep -aq '^vtap-userspace' "$run/probe" 2>/dev/null; then
			seen=kvm
		else
			say "KVM is not usable here; emulating"
		fi
	fi
	echo "$id $seen" >"$verdict.$$"
	mv "$verdict.$$" "$verdict"
	echo "$seen"
}

fsdev()	# ID PATH OPTIONS
{
	qemu+=(-fsdev "local,id=$1,path=$2,security_model=none,multidevs=remap$3"
	       -device "virtio-9p-pci,fsdev=$1,mount_tag=$1")
}

moddir=$kernel_dir/lib/modules/$rel
if [ -n "$modules" ]; then
	with_modules
	moddir=$run/lib/modules/$rel
fi
make_initramfs
if [ -n "$icount" ]; then
	accel=icount smp=1
else
	accel=$(accel)
fi
if [ -n "$ask" ]; then
	echo "$accel"
	exit 0
fi

cp "$VTAP_TREE/scripts/vm/payload" "$run/share/payload"
{
	printf 'rel=%q\nmoddir=%q\ncwd=%q\n' "$rel" "$moddir" "$PWD"
	printf 'export TERM=%q\nshell=%q\n' "${TERM:-dumb}" "$shell"
	printf 'size="%s"\n' "$([ -z "$shell" ] || stty size 2>/dev/null || :)"
	printf 'shares=(%s)\n' "$([ ${#shares[@]} = 0 ] || printf '%q ' "${shares[@]}")"
	printf 'command=(%s)\n' "$([ $# = 0 ] || printf '%q ' "$@")"
} >"$run/share/job"

# tsc=unstable: QEMU's multi-threaded emulation sometimes dies in int3 while
# the kernel flips the clock's static key on two processors at once. The long
# stall limits are for emulation on a machine that has other work.
# With --icount there is no second processor, and the TSC is what counts. There
# the scheduler must not put off a switch: it takes no look at the clock after a
# wake-up that asks for one, and what the task runs until it gives way is lost
# from its CPU time.
tsc=unstable
[ -z "$icount" ] || tsc="reliable preempt=full"
params="console=ttyS0 loglevel=5 panic=-1 oops=panic tsc=$tsc mitigations=off"
params+=" no_timer_check rcupdate.rcu_cpu_stall_timeout=150 watchdog_thresh=60"
[ -z "$gdb" ] || params+=" nokaslr"
qemu=(qemu-system-x86_64 -nodefaults -no-user-config -display none -monitor none
      -no-reboot -m "$mem" -smp "$smp" -kernel "$kernel_dir/vmlinuz"
      -initrd "$run/initramfs.cpio" -append "$params$append"
      -serial "file:$run/console" -device virtio-serial-pci
      -chardev "stdio,id=io,signal=off")
case $accel in
kvm)	qemu+=(-accel kvm -cpu host) ;;
icount)	qemu+=(-accel "tcg,thread=single" -icount "shift=0,sleep=off" -cpu "$cpu") ;;
*)	qemu+=(-accel "tcg,thread=multi" -cpu "$cpu") ;;
esac
if [ -n "$shell" ]; then
	qemu+=(-device "virtconsole,chardev=io")
else
	qemu+=(-device "virtserialport,chardev=io,name=vtap")
fi
fsdev root / ",readonly=on"
fsdev share "$run/share" ""
for i in "${!shares[@]}"; do
	fsdev "share$i" "${shares[$i]}" ""
done
[ -z "$gdb" ] || qemu+=(-gdb "tcp:127.0.0.1:1234")
qemu+=("${qemu_more[@]}")

save_log()
{
	cp "$run/console" "$log" 2>/dev/null || :
}
on_exit save_log

# boot: one try; sets status, or leaves it empty if the command never began.
boot()
{
	local start=$SECONDS began=""

	rm -f "$run/share/began" "$run/share/status" "$run/share/tainted"
	: >"$run/console"
	status=
	if [ -n "$shell" ]; then
		"${qemu[@]}" || :
		[ ! -e "$run/share/began" ] || status=$(cat "$run/share/status" 2>/dev/null || echo 99)
		return 0
	fi
	"${qemu[@]}" <&"$hold" &
	qemu_pid=$!
	while kill -0 "$qemu_pid" 2>/dev/null; do
		if [ -z "$began" ] && [ -e "$run/share/began" ]; then
			began=$SECONDS
		elif [ -z "$began" ] && ((SECONDS - start > BOOT_LIMIT)); then
			say "no userspace after $BOOT_LIMIT s"
			stop_qemu
		elif [ -n "$began" ] && ((SECONDS - began > limit)); then
			say "the command did not end within $limit s; the VM is stopped"
			stop_qemu
			status=124
		fi
		sleep 0.1
	done
	wait "$qemu_pid" 2>/dev/null || :
	qemu_pid=
	if [ -z "$status" ] && [ -e "$run/share/status" ]; then
		status=$(<"$run/share/status")
	elif [ -z "$status" ] && [ -e "$run/share/began" ]; then
		status=99
		say "the VM died under the command; end of its kernel log ($log):"
		tail -n 40 "$run/console" >&2
	fi
}

# complaints: print the lines of the kernel log that no run may leave behind.
complaints()
{
	local bits

	sed -n '/vtap: command begins/,$p' "$run/console" | without_foreign_races |
		grep -aE "$SPLAT|kmemleak: [1-9]|Kernel panic" || :
	bits=$(cat "$run/share/tainted" 2>/dev/null || echo 0)
	# bad page, died, warning, soft lockup
	if ((bits & (1 << 5 | 1 << 7 | 1 << 9 | 1 << 14))); then
		echo "kernel tainted: $bits"
	fi
}

# An input that never ends: at an end of file QEMU would hang up the port that
# carries the command's output.
mkfifo "$run/hold"
exec {hold}<>"$run/hold"

status=
for try in $(seq $BOOT_TRIES); do
	say "booting $rel ($accel, $smp CPUs, $mem MB)"
	boot
	[ -z "$status" ] || break
	say "boot $try of $BOOT_TRIES died before the command began:"
	tail -n 5 "$run/console" >&2
done
[ -n "$status" ] || { save_log; die "the VM does not boot; its log is $log"; }

bad=$(complaints)
if [ -n "$bad" ]; then
	say "the kernel complained (all of its log: $log):"
	head -n 20 <<<"$bad" >&2
	[ "$status" != 0 ] || status=98
fi
exit "$status"
