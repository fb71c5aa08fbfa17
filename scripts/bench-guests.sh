#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# bench-guests.sh - real Linux guests on in-tree vhost_net, on vhost_tap and on
# QEMU's own virtio (vhost=off), measured in turn in one run: VM to VM, VM to
# host and host to VM, TCP stream, UDP stream, request/response and pktgen, with
# offloads on and off; what was lost or sent again stands beside each rate.
#
# usage: scripts/bench-guests.sh [OPTION...]
#
#   --rounds N         how often each is measured (5; 2 on an emulated host VM)
#   --seconds S        how long each time (2; 5 with KVM)
#   --scenarios GLOBS  which ones: "vm-vm/* host-vm/tcp/on" (all; --list says)
#   --backends NAMES   of "in-tree ours qemu" (all three)
#   --host KIND        where the host kernel runs: vm, the host VM of vm.sh; uml,
#                      User Mode Linux; auto (the default), vm where KVM works
#                      and else uml, because QEMU in an emulated machine is slow
#   --out FILE         the JSON (out/bench/guests.json)
#   --keep             leave the run's folder, with logs and raw measurements
#   --list             print the scenarios
#
# Two guests boot once; each has a device on every backend, with offloads and
# without, so that backends take turns while all else stays the same. In-tree is
# loaded under its own name, ours beside it through devname=. Prints a table; its
# last line is "bench-guests: N scenarios, …". Fails if something could not be
# measured, never because of a figure.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

SERIES=${VTAP_KERNELS[0]}
UML_MB=1536 GUEST_MB=128

rounds="" seconds="" globs="*" backends="in-tree ours qemu" host=auto keep="" list=""
out=$VTAP_OUT/bench/guests.json
while [ $# -gt 0 ]; do
	case $1 in
	--rounds) rounds=${2:?}; shift 2 ;;
	--seconds) seconds=${2:?}; shift 2 ;;
	--scenarios) globs=${2:?}; shift 2 ;;
	--backends) backends=${2:?}; shift 2 ;;
	--host)	host=${2:?}; shift 2 ;;
	--out)	out=${2:?}; shift 2 ;;
	--keep)	keep=1; shift ;;
	--list)	list=1; shift ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	*)	die "unknown argument '$1'; try --help" ;;
	esac
done

# scenarios: "NAME FROM TO LOAD OFFLOADS UNIT" of each that was asked for.
# pktgen's frames and those of request/response have nothing to offload to a
# segment, but the latter take another way when checksums are left to the tap.
scenarios()
{
	local way load off name g unit from to

	for way in vm-vm vm-host host-vm; do
		case $way in
		vm-vm)	 from=a to=b ;;
		vm-host) from=a to=host ;;
		host-vm) from=host to=a ;;
		esac
		for load in tcp udp rr pktgen; do
			case $load in
			rr)	unit=per_s ;;
			pktgen)	unit=frames/s ;;
			*)	unit=Mbit/s ;;
			esac
			for off in on off; do
				[ "$load/$off" != pktgen/off ] || continue
				name=$way/$load/$off
				for g in $globs; do
					# shellcheck disable=SC2254 # a pattern
					case $name in
					$g) echo "$name $from $to $load $off $unit"
					    break ;;
					esac
				done
			done
		done
	done
}

set -f
for b in $backends; do
	case $b in
	in-tree|ours|qemu) ;;
	*) die "unknown backend '$b'; known: in-tree ours qemu" ;;
	esac
done
wanted=$(scenarios)
[ -n "$wanted" ] || die "no scenario matches '$globs'; --list prints them"
if [ -n "$list" ]; then
	cut -d ' ' -f 1 <<<"$wanted"
	exit 0
fi

started=$SECONDS
"$VTAP_TREE/scripts/deps.sh" guests
case $host in
auto|uml|vm) ;;
*)	die "unknown host '$host'; known: auto uml vm" ;;
esac
accel=tcg
[ "$host" = uml ] || accel=$("$VTAP_TREE/scripts/vm.sh" --accel)
[ "$host/$accel" != auto/kvm ] || host=vm
seconds=${seconds:-$([ "$accel" = kvm ] && echo 5 || echo 2)}
rounds_vm=${rounds:-$([ "$accel" = kvm ] && echo 5 || echo 2)}
[ "$host" != vm ] || rounds=$rounds_vm
rounds=${rounds:-5}

kernel_dir=$("$VTAP_TREE/scripts/kernel.sh" get "$SERIES")
rel=$(<"$kernel_dir/release")
# Not below /tmp or /run, which the hosts may hide.
mkdir -p "$VTAP_CACHE/guests" "$(dirname "$out")"
work=$(mktemp -d "$VTAP_CACHE/guests/run.XXXXXX")
[ -n "$keep" ] || on_exit "rm -rf '$work'"

# make_guest: kernel and initramfs of the guests; the host runs the same load.
vmlinux=""
make_guest()
{
	local g=$work/initramfs n=100 m kind path

	say "making the guests: Linux $rel, busybox and the load program"
	vmlinux=$(uncompressed_kernel "$kernel_dir")
	mkdir -p "$g"/{bin,dev,proc,sys,m}
	gcc -O2 -Wall -static -o "$work/load" "$VTAP_TREE/scripts/guests/load.c"
	cp /bin/busybox "$work/load" "$g/bin/"
	for m in virtio_pci virtio_net pktgen; do
		while read -r kind path _; do
			[ "$kind" = insmod ] || continue
			[ -z "$(find "$g/m" -name "*-${path##*/}")" ] || continue
			cp "$path" "$g/m/$n-${path##*/}"
			n=$((n + 1))
		done < <(modprobe -C /dev/null -d "$kernel_dir" -S "$rel" --show-depends "$m")
	done
	install -m 755 "$VTAP_TREE/scripts/guests/init" "$g/init"
	(cd "$g" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initramfs.gz"
}

# job: what host.py and report.py are told.
job()
{
	local name from to load off unit comma=""

	printf '{"host": "%s", "nested": %s, "kernel": "%s", "accel": "%s",\n' \
		"$1" "$2" "$rel" "$accel"
	printf ' "guest_mem": %d,\n' "$GUEST_MB"
	printf ' "vmlinux": "%s", "initrd": "%s", "load": "%s", "tool": "%s",\n' \
		"$vmlinux" "$work/initramfs.gz" "$work/load" "$tool"
	printf ' "results": "%s", "seconds": %s, "rounds": %d,\n' \
		"$work/share/results" "$seconds" "$rounds"
	printf ' "nodes": {"in-tree": "/dev/vhost-net", "ours": "/dev/vhost-tap"},\n'
	printf ' "backends": ["%s"],\n "scenarios": [' "${backends// /\", \"}"
	while read -r name from to load off unit; do
		printf '%s\n  {"name": "%s", "from": "%s", "to": "%s", "load": "%s", "offloads": "%s", "unit": "%s"}' \
			"$comma" "$name" "$from" "$to" "$load" "$off" "$unit"
		comma=,
	done <<<"$wanted"
	printf ']}\n'
}

in_uml()
{
	local d

	d=$("$VTAP_TREE/scripts/uml.sh" get) || return 1
	"$VTAP_TREE/scripts/uml.sh" module "$VTAP_OUT/uml" || return 1
	job "User Mode Linux" false >"$work/job.json"
	{
		printf 'work=%q\nmodules=(' "$work/share"
		printf '%q ' "$d"/modules/{vhost_iotlb,vhost,vhost_net}.ko \
			"$VTAP_OUT/uml/vhost_tap.ko devname=vhost-tap"
		printf ')\ncommand=(%q %q)\n' "$VTAP_TREE/scripts/guests/host.py" "$work/job.json"
	} >"$work/share/job"
	say "User Mode Linux is the host; the guests boot in half a minute"
	: >"$work/share/output"
	tail -n +1 -F "$work/share/output" >&2 2>/dev/null &
	on_exit "kill $! 2>/dev/null"
	run_child "$VTAP_TREE/scripts/uml.sh" run "$work/share" "$UML_MB"
}

in_vm()
{
	# Emulation inside emulation, unless there is KVM.
	job "the host VM ($accel)" "$([ "$accel" = kvm ] && echo false || echo true)" \
		>"$work/job.json"
	# One processor where it is emulated: see demo.sh.
	run_child "$VTAP_TREE/scripts/vm.sh" --kernel "$SERIES" --mem 3072 \
		--smp "$([ "$accel" = kvm ] && nproc || echo 1)" --share "$work/share" \
		--modules "$VTAP_OUT/$SERIES/modules" --timeout 14400 \
		--log "$VTAP_OUT/$SERIES/bench-guests-kernel.log" -- \
		"$VTAP_TREE/scripts/guests/vm-host" "$work/job.json" >&2
}

mkdir "$work/share"
make_guest
# The module for the host VM, and the tool, which both hosts run.
"$VTAP_TREE/scripts/build.sh" --kernel "$SERIES" >/dev/null
tool=$VTAP_OUT/$SERIES/tree/tools/vhost_tap/vhost-tap

results=$work/share/results status=0
case $host in
vm)	in_vm || status=$? ;;
*)	in_uml || status=$? ;;
esac
if [ ! -s "$results" ] && [ "$host" = auto ]; then
	say "User Mode Linux did not do (see above); the host VM is slower, but may"
	rounds=$rounds_vm status=0
	in_vm || status=$?
fi
[ -s "$results" ] || die "nothing was measured; --keep leaves the logs"
"$VTAP_TREE/scripts/guests/report.py" "$work/job.json" "$results" "$out" \
	>"${out%.json}.txt"
say "took $((SECONDS - started)) s; measurements in $out"
[ -z "$keep" ] || say "logs and raw measurements are in $work"
cat "${out%.json}.txt"
exit "$status"
