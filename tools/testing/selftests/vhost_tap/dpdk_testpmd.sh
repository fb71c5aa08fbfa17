#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# timeout=600
#
# A client that nobody here wrote: DPDK's virtio-user driver, as testpmd runs
# it, on the node under test ($VHOST_TAP_NODE), in both directions and at once.
#
#   testpmd txonly --> TX ring --> tap                 (its rx_packets)
#   pktgen --> tap --> RX ring --> testpmd rxonly      (its tx_packets)
#   pktgen --> tap --> RX ring --> testpmd io --> TX ring --> tap
#
# Each time what testpmd says it has sent or got must be what the tap counted.

set -uo pipefail

ksft_skip=4
node=${VHOST_TAP_NODE:-/dev/vhost-net}
tap=vtapdpdk0
frames=20000

skip()
{
	echo "1..0 # SKIP $*"
	exit $ksft_skip
}

command -v dpdk-testpmd >/dev/null || skip "no dpdk-testpmd (Debian: dpdk-dev)"
[ "$(id -u)" = 0 ] || skip "needs root"
[ -c "$node" ] || skip "no $node"
[ "$(nproc)" -ge 2 ] || skip "testpmd needs two processors"
modprobe -q tun
modprobe -q pktgen
[ -d /proc/net/pktgen ] || skip "no pktgen in this kernel"

tmp=$(mktemp -d)
log=$tmp/log
count=0 failed=0 pid=""

cleanup()
{
	[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null
	echo reset >/proc/net/pktgen/pgctrl
	rm -rf "$tmp"
}
trap cleanup EXIT

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
		tail -n 30 "$log" | sed 's/^/# /'
		echo	# testpmd's prompt ends no line
	fi
}

# within SECONDS COMMAND...: try until it succeeds; the limit is a watchdog
within()
{
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# since NAME VALUE: how far a statistic of the tap has come from there
since()
{
	echo $(($(<"/sys/class/net/$tap/statistics/$1") - $2))
}

# said FROM PATTERN: testpmd has written it since byte FROM
said()
{
	tail -c "+$(($1 + 1))" "$log" | grep -qaE "$2"
}

# ask COMMAND PATTERN: type it, wait for the answer
ask()
{
	local from

	from=$(wc -c <"$log")
	echo "$1" >&3
	within 120 said "$from" "$2"
}

# forwarded rx|tx: what testpmd counted in the run that it was just told to stop
forwarded()
{
	grep -aoE "${1^^}-packets: *[0-9]+" "$log" |
		tail -n 1 | grep -oE '[0-9]+$'
}

pg()
{
	echo "$2" >"/proc/net/pktgen/$1"
}

# flood: frames from the host into the tap; comes back when all are sent
flood()
{
	pg pgctrl reset &&
	pg kpktgend_0 "add_device $tap" &&
	pg "$tap" "count $frames" &&
	pg "$tap" "pkt_size 300" &&
	pg "$tap" "dst_mac 02:00:00:00:00:01" &&
	pg "$tap" "dst 198.51.100.1" &&
	# not faster than such a guest can take them: the tap drops what is
	pg "$tap" "delay 20000" &&
	pg pgctrl start
}

starts()
{
	mkfifo "$tmp/commands"
	# into a file, stdio would keep its answers back
	stdbuf -oL dpdk-testpmd -l 0,1 --no-huge -m 256 --no-pci --no-telemetry \
		--vdev="virtio_user0,path=$node,queues=1,queue_size=1024,iface=$tap" \
		-- -i --port-topology=loop --total-num-mbufs=4096 \
		<"$tmp/commands" >"$log" 2>&1 &
	pid=$!
	exec 3>"$tmp/commands"
	within 300 said 0 'testpmd>' || return 1
	# no chatter: all counted frames are ours
	echo 1 >"/proc/sys/net/ipv6/conf/$tap/disable_ipv6" 2>/dev/null
	ip link set dev "$tap" up
}

sent_enough()	# BEFORE
{
	[ "$(since rx_packets "$1")" -ge 100000 ]
}

sent_all()	# BEFORE
{
	[ "$(since rx_packets "$1")" = "$(forwarded tx)" ]
}

sends()
{
	local before status

	before=$(since rx_packets 0)
	ask "set fwd txonly" "Set txonly" || return 1
	ask "start" "txonly packet forwarding" || return 1
	within 120 sent_enough "$before" || return 1
	ask "stop" "Done" || return 1
	within 60 sent_all "$before"
	status=$?
	echo "# testpmd sent $(forwarded tx)," \
	     "the tap received $(since rx_packets "$before")"
	return $status
}

# taken or dropped
all_taken()	# TX DROPPED
{
	[ $(($(since tx_packets "$1") + $(since tx_dropped "$2"))) -ge $frames ]
}

receives()	# MODE: rxonly or io
{
	local tx dropped rx status

	tx=$(since tx_packets 0)
	dropped=$(since tx_dropped 0)
	rx=$(since rx_packets 0)
	ask "set fwd $1" "Set $1" || return 1
	ask "start" "$1 packet forwarding" || return 1
	flood || return 1
	within 120 all_taken "$tx" "$dropped"
	status=$?
	ask "stop" "Done" || return 1
	# In mode io testpmd itself drops what finds its TX ring full.
	[ "$1" != io ] || within 60 sent_all "$rx" || status=1
	tx=$(since tx_packets "$tx")
	echo "# pktgen sent $frames, $(since tx_dropped "$dropped") found the tap full," \
	     "testpmd was given $tx, got $(forwarded rx)," \
	     "sent $(forwarded tx), $(since rx_packets "$rx") came back"
	[ $status = 0 ] || return 1
	[ "$(forwarded rx)" = "$tx" ] && [ "$tx" -ge $((frames / 10)) ] || return 1
	[ "$1" != io ] || [ "$(forwarded tx)" -ge $((frames / 10)) ]
}

gone()
{
	! kill -0 "$pid" 2>/dev/null
}

ends()
{
	local status

	echo quit >&3
	within 30 gone || return 1
	wait "$pid"
	status=$?
	pid=""
	[ $status = 0 ] && [ ! -e "/sys/class/net/$tap" ]
}

echo "TAP version 13"
echo "1..5"
ok "testpmd starts on $node" starts
if [ $failed = 0 ]; then
	ok "guest to host: the tap counts what testpmd sent" sends
	ok "host to guest: testpmd counts what the tap gave" receives rxonly
	ok "both ways: every frame that testpmd sends back arrives" receives io
	ok "testpmd ends, and its tap with it" ends
else
	for what in "guest to host" "host to guest" "both ways" "the end"; do
		ok "$what: testpmd did not start" false
	done
fi
[ $failed = 0 ]
