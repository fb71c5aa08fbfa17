#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# uninstall.sh - remove the module that `make install` put beside KDIR's kernel.
#
# usage: scripts/uninstall.sh KDIR
set -euo pipefail
. "$(dirname "$0")/lib.sh"

case ${1:-} in
-h|--help|'') usage_from_header "$0"; exit 0 ;;
esac
rel=$(make -s --no-print-directory -C "$1" kernelrelease) || die "no kernel headers in $1"
rm -fv "${DESTDIR:-}/lib/modules/$rel/updates/drivers/vhost_tap/vhost_tap.ko"* \
	"${DESTDIR:-}/lib/modules/$rel/updates/vhost_tap.ko"*
depmod ${DESTDIR:+-b "$DESTDIR"} "$rel"
