#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# demo.sh - the main job, shown: a KVM host (the host VM) loads vhost_tap, QEMU
# inside it runs a Linux guest with -netdev tap,vhost=on, and traffic passes
# both ways. Ends with "demo: PASS …" or "demo: FAIL …".
#
# usage: scripts/demo.sh [--kernel SERIES] [--module NAME]
#
#   --kernel SERIES  kernel of host VM and guest (6.12)
#   --module NAME    vhost_net shows the same with the in-tree module, except
#                    for the proof, which fails
set -euo pipefail
. "$(dirname "$0")/lib.sh"

kernel=${VTAP_KERNELS[0]} module=vhost_tap
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=${2:?}; shift 2 ;;
	--module) module=${2:?}; shift 2 ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	*)	die "unknown argument '$1'; try --help" ;;
	esac
done

need_kernel_name "$kernel"
verdict="FAIL (see above)"
last_word()
{
	echo "demo: $verdict"
}
on_exit last_word
start=$SECONDS
"$VTAP_TREE/scripts/deps.sh" demo
kernel_dir=$("$VTAP_TREE/scripts/kernel.sh" get "$kernel")
rel=$(<"$kernel_dir/release")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/vtap-demo.XXXXXX")
on_exit "rm -rf '$work'"

options=() tool=$VTAP_OUT/$kernel/tree/tools/vhost_tap/vhost-tap
if [ "$module" = vhost_tap ]; then
	"$VTAP_TREE/scripts/build.sh" --kernel "$kernel" >/dev/null
	options+=(--modules "$VTAP_OUT/$kernel/modules")
fi

say "making the guest: Linux $rel and a busybox"
vmlinux=$(uncompressed_kernel "$kernel_dir")
g=$work/initramfs
mkdir -p "$g"/{bin,dev,proc,sys,m}
cp /bin/busybox "$g/bin/"
gcc -O2 -Wall -static -o "$g/bin/burst" "$VTAP_TREE/scripts/demo/burst.c"
n=100
for m in virtio_pci virtio_net; do
	while read -r kind path _; do
		[ "$kind" = insmod ] || continue
		compgen -G "$g/m/*-${path##*/}" >/dev/null || cp "$path" "$g/m/$n-${path##*/}"
		n=$((n + 1))
	done < <(modprobe -C /dev/null -d "$kernel_dir" -S "$rel" --show-depends "$m")
done
cp "$VTAP_TREE/scripts/demo/guest-init" "$g/init"
chmod 755 "$g/init"
(cd "$g" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initramfs.gz"

# One processor: the inner QEMU generates code, and an emulator that runs two
# processors side by side is not always told of code that the other one wrote.
run_child "$VTAP_TREE/scripts/vm.sh" --kernel "$kernel" "${options[@]}" --smp 1 --timeout 4200 \
	--log "$VTAP_OUT/$kernel/demo-kernel.log" -- \
	"$VTAP_TREE/scripts/demo/host" "$module" "$tool" "$vmlinux" \
	"$work/initramfs.gz" "$g/bin/burst" ||
	{ verdict="FAIL (status $?, see above; kernel log in out/$kernel/demo-kernel.log)"
	  exit 1; }
verdict="PASS in $((SECONDS - start)) s: a Linux $rel guest passed ping, TCP and UDP both ways through $module"
