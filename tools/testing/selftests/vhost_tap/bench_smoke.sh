#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# timeout=240
#
# The benchmark's loads, a few thousand frames each, on the node under test
# ($VHOST_TAP_NODE): that each runs, loses nothing, and that the module counts
# what the load counts. How fast is no matter.

set -uo pipefail

ksft_skip=4
frames=2000
loads=(tx64_up tx64_xdp tx64_bridge txgso_up rx64 rxgso both64 g2g64 g2ggso
       rr1 rr16 dev4)

skip()
{
	echo "1..0 # SKIP $*"
	exit $ksft_skip
}

[ "$(id -u)" = 0 ] || skip "needs root"
[ "$(nproc)" -ge 2 ] || skip "load and worker want a processor each"
[ -x ./vhost_bench ] || skip "no vhost_bench"
modprobe -q -a tun pktgen bridge
[ -d /proc/net/pktgen ] || skip "no pktgen in this kernel"

err=$(mktemp)
trap 'rm -f "$err"' EXIT

# field NAME LINE: an integer out of the JSON
field()
{
	sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" <<<"$2"
}

# passes if the load ran as long as it should, and nothing was lost
good()
{
	local line packets lost module

	line=$(timeout $((60 * ${VTAP_SLOW:-1})) ./vhost_bench --scenario "$1" --frames $frames 2>"$err")
	packets=$(field packets "$line")
	lost=$(field lost "$line")
	module=$(field module_packets "$line")
	[[ $1 != rr* ]] || packets=$((${packets:-0} * 2))	# there and back
	[ "${packets:-0}" -ge $frames ] && [ "${lost:-1}" = 0 ] &&
		[ "${module:-$packets}" = "$packets" ] && return 0
	sed 's/^/# /' "$err"
	echo "# ${line:-no result}"
	return 1
}

echo "TAP version 13"
echo "1..${#loads[@]}"
n=0 failed=0
for load in "${loads[@]}"; do
	n=$((n + 1))
	if good "$load"; then
		echo "ok $n $load: nothing lost"
	else
		failed=$((failed + 1))
		echo "not ok $n $load: nothing lost"
	fi
done
[ $failed = 0 ]
