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
# What modules_install goes by; kernel.release of Debian's 6.1 headers says less.
rel=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' \
	"$1/include/generated/utsrelease.h" 2>/dev/null) || :
[ -n "$rel" ] || rel=$(uname -r)
rm -fv "${DESTDIR:-}/lib/modules/$rel/updates/drivers/vhost_tap/vhost_tap.ko"* \
	"${DESTDIR:-}/lib/modules/$rel/updates/vhost_tap.ko"*
depmod ${DESTDIR:+-b "$DESTDIR"} "$rel"
