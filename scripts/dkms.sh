#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# dkms.sh - hand the source to DKMS, which builds it for each kernel that is
# installed now or later.
#
# usage: scripts/dkms.sh install|uninstall
set -euo pipefail
. "$(dirname "$0")/lib.sh"

name=vhost_tap
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$VTAP_TREE/dkms.conf")
src=/usr/src/$name-$version

uninstall()
{
	if dkms status "$name/$version" 2>/dev/null | grep -q .; then
		dkms remove "$name/$version" --all >&2
	fi
	rm -rf "$src"
}

case ${1:-} in
install)
	need_pkgs dkms make gcc rsync
	[ "$(id -u)" = 0 ] || exec sudo "$0" "$@"
	uninstall
	mkdir -p "$src"
	cp "$VTAP_TREE/dkms.conf" "$VTAP_TREE/Kbuild" "$src/"
	rsync -a --exclude '*.o' --exclude '*.ko' --exclude '*.mod' \
		--exclude '*.mod.c' --exclude '.*.cmd' \
		"$VTAP_TREE/drivers" "$VTAP_TREE/include" "$src/"
	dkms add "$name/$version" >&2
	dkms build "$name/$version" ${VTAP_DKMS_KERNEL:+-k "$VTAP_DKMS_KERNEL"} >&2 ||
		die "DKMS could not build it; are the headers of the kernel installed? (apt-get install linux-headers-$(uname -r))"
	dkms install "$name/$version" ${VTAP_DKMS_KERNEL:+-k "$VTAP_DKMS_KERNEL"} >&2
	install -D -m 0644 "$VTAP_TREE/scripts/modprobe.conf" /etc/modprobe.d/vhost_tap.conf
	echo "dkms-install: done; load it with: modprobe vhost_tap" ;;
uninstall)
	[ "$(id -u)" = 0 ] || exec sudo "$0" "$@"
	uninstall
	rm -f /etc/modprobe.d/vhost_tap.conf
	echo "dkms-uninstall: done" ;;
-h|--help) usage_from_header "$0" ;;
*)	usage_from_header "$0" >&2; exit 2 ;;
esac
