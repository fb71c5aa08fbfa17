#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The tool vhost-tap: what `show` prints of open devices, as text and as JSON,
# and how it fails. $VTAP_TOOL names the tool; else it is taken from this tree
# or from PATH. The counters themselves are the business of netlink_test.

set -uo pipefail

ksft_skip=4
node=${VHOST_TAP_NODE:-/dev/vhost-net}
here=$(cd "$(dirname "$0")" && pwd -P)
tool=${VTAP_TOOL:-}
[ -n "$tool" ] || tool=$here/../../../vhost_tap/vhost-tap
[ -x "$tool" ] || tool=$(command -v vhost-tap)

if [ ! -x "$tool" ]; then
	echo "1..0 # SKIP no tool vhost-tap: make -C tools/vhost_tap, or set VTAP_TOOL"
	exit $ksft_skip
fi
if [ "$(id -u)" != 0 ] || [ ! -d /sys/module/vhost_tap ]; then
	echo "1..0 # SKIP needs root and the module vhost_tap"
	exit $ksft_skip
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
count=0 failed=0

# ok DESCRIPTION COMMAND...: passes if the command does
ok()
{
	local what=$1

	shift
	count=$((count + 1))
	if "$@"; then
		echo "ok $count $what"
	else
		failed=$((failed + 1))
		echo "not ok $count $what"
		sed 's/^/# out: /' "$tmp/out" | head -n 20
		sed 's/^/# err: /' "$tmp/err" | head -n 20
	fi
}

# run STATUS COMMAND...: output in $tmp/out and $tmp/err
run()
{
	local want=$1 status

	shift
	"$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ "$status" = "$want" ] || { echo "# exit status $status, not $want"; return 1; }
}

# said FILE TEXT: the output has this line, or part of one
said()
{
	grep -qF -- "$2" "$tmp/$1"
}

shows()
{
	run 0 "$@" && [ ! -s "$tmp/err" ]
}

fails()
{
	local status=$1 text=$2

	shift 2
	run "$status" "$@" && said err "$text" && [ ! -s "$tmp/out" ]
}

json_valid()
{
	if command -v python3 >/dev/null; then
		python3 -m json.tool "$tmp/out" >/dev/null
	elif command -v jq >/dev/null; then
		jq . "$tmp/out" >/dev/null
	else
		echo "# neither python3 nor jq to check JSON with"
	fi
}

full_disk()
{
	"$tool" show >/dev/full
}

as_nobody()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

echo "TAP version 13"
ok "help" shows "$tool" --help
ok "version" shows "$tool" --version
ok "help of show" shows "$tool" show --help
ok "no command is wrong usage" fails 2 usage "$tool"
ok "an unknown command is wrong usage" fails 2 frobnicate "$tool" frobnicate
ok "an unknown option is wrong usage" fails 2 usage "$tool" show --frobnicate
ok "two devices are wrong usage" fails 2 "one device" "$tool" show 1 2

ok "show" shows "$tool" show
ok "show --json" shows "$tool" show --json
ok "JSON is valid without devices" json_valid

exec {dev}<>"$node"
ok "show lists the device" shows "$tool" show
ok "by its node" said out "/dev/${node##*/}"
ok "without an owner" said out "no owner"
ok "with a receive queue" said out "  rx  stopped"
ok "with a transmit queue" said out "  tx  stopped"
id=$(sed -n 's/^device \([0-9]*\) .*/\1/p' "$tmp/out" | tail -n 1)
ok "show -s" shows "$tool" show -s "$id"
ok "has counters" said out "packets 0"
ok "has the time of waits" said out "headcount-wait-ns 0"
ok "has drops" said out "drops  none"
ok "has ring errors" said out "ring-errors  none"
ok "show --json DEV" shows "$tool" show --json "$id"
ok "JSON is valid" json_valid
ok "JSON has the id" said out "\"id\": $id,"
ok "JSON names the state" said out '"state": "stopped"'
ok "JSON has drops by reason" said out '"too-big": 0'
ok "JSON has ring errors by reason" said out '"avail-idx": 0'

ok "no such id" fails 5 "no device 4294967295" "$tool" show 4294967295
ok "no such interface" fails 5 "interface 'nosuch0'" "$tool" show nosuch0
ok "a full disk is an error" run 1 full_disk
if as_nobody true 2>/dev/null; then
	ok "without CAP_NET_ADMIN" fails 4 "not permitted" as_nobody "$tool" show
fi

exec {dev}>&-
ok "a closed device is gone" fails 5 "no device $id" "$tool" show "$id"

echo "1..$count"
[ "$failed" = 0 ]
