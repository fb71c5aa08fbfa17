#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# hostile.sh - hostile_guest_test for as many rounds as patience allows: on User
# Mode Linux with KASAN, UBSAN and lockdep, where a round takes a fraction of what
# it takes in an emulated VM. One processor only: threads take turns there, and
# what needs two at once is left to check-debug and check-race.
#
# usage: scripts/hostile.sh [--rounds N] [--seed N]
#
#   --rounds N   how many, over the five variants of the test together (50000)
#   --seed N     what the generator begins with (1)
#
# A failure says the seed and the first round to repeat it with. The last line is
# "N passed, N failed, N skipped".
set -euo pipefail
. "$(dirname "$0")/lib.sh"

VARIANTS=5 SLICE=6400 UML_MB=1536

rounds=50000 seed=1
while [ $# -gt 0 ]; do
	case $1 in
	--rounds) rounds=${2:?}; shift 2 ;;
	--seed)	seed=${2:?}; shift 2 ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	*)	die "unknown argument '$1'; try --help" ;;
	esac
done
[[ $rounds =~ ^[1-9][0-9]*$ && $seed =~ ^[0-9]+$ ]] || die "rounds and seed are numbers"
slices=$(((rounds + VARIANTS * SLICE - 1) / (VARIANTS * SLICE)))

uml=$("$VTAP_TREE/scripts/uml.sh" --debug get)
"$VTAP_TREE/scripts/uml.sh" --debug module "$VTAP_OUT/uml-debug" >/dev/null 2>&1 ||
	die "the module does not build; scripts/uml.sh --debug module $VTAP_OUT/uml-debug shows why"
tests=$("$VTAP_TREE/scripts/selftests.sh" --out "$VTAP_OUT/uml-debug" 2>/dev/null) ||
	die "the tests do not build; scripts/selftests.sh shows why"

work=$(mktemp -d)
on_exit "rm -rf '$work'"
cat >"$work/run" <<EOF
#!/bin/bash
cd '$tests' || exit 1
export VHOST_TAP_NODE=/dev/vhost-net VTAP_SEED=$seed VTAP_ROUNDS=$SLICE
for ((i = 0; i < $slices; i++)); do
	VTAP_FIRST=\$((i * $SLICE)) ./hostile_guest_test || exit 1
	echo "@@ \$(((i + 1) * $VARIANTS * $SLICE)) rounds done"
done
EOF
chmod +x "$work/run"
{
	printf 'work=%q\nmodules=(' "$work"
	for m in vhost_iotlb vhost; do
		printf '%q ' "$uml/modules/$m.ko"
	done
	printf '%q)\ncommand=(%q)\n' "$VTAP_OUT/uml-debug/vhost_tap.ko" "$work/run"
} >"$work/job"

say "$((slices * VARIANTS * SLICE)) rounds of seed $seed, on User Mode Linux"
: >"$work/output"
tail -n +1 -F "$work/output" 2>/dev/null | grep -a --line-buffered '^@@' >&2 &
on_exit "kill $! 2>/dev/null"
status=0
run_child "$VTAP_TREE/scripts/uml.sh" --debug run "$work" "$UML_MB" || status=$?
# Each slice prints a plan and results of its own; one plan for all of them here.
echo "TAP version 13"
n=0 passed=0 failed=0
while IFS= read -r line; do
	case $line in
	'ok '*)	echo "ok $((++n)) ${line#ok * }"; passed=$((passed + 1)) ;;
	'not ok '*)
		echo "not ok $((++n)) ${line#not ok * }"; failed=$((failed + 1)) ;;
	'# '*' rounds of seed '*|'# failed: '*|'# hostile_guest_test.c:'*)
		echo "$line" ;;
	esac
done <"$work/output"
if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
	tail -n 30 "$work/output" | sed 's/^/# /'
	echo "not ok $((++n)) User Mode Linux ended with status $status"
	failed=1
fi
echo "1..$n"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
