#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# deps.sh - install the Debian packages that a job needs, and only those that
# are missing.
#
# usage: scripts/deps.sh JOB...
#   fetch   unpacking kernel packages
#   prepare making a kernel's source good for building modules
#   build   compiling the module and the tests
#   vm      booting the host VM
#   test    what runs inside it for make check
#   demo    what runs inside it for make demo
#   ring    make bench-ring
#   bench   make bench
#   icount  make bench-icount
#   uml     building User Mode Linux
#   kernel  building a kernel
#   guests  make bench-guests
#   fuzz    make fuzz
#   style   make style
#   all     everything
# usage: scripts/deps.sh headers KDIR
#   the running kernel's headers, when KDIR is where they would be
set -euo pipefail
. "$(dirname "$0")/lib.sh"

fetch=(xz-utils kmod rsync make gcc libc6-dev)
build=("${fetch[@]}" bc libelf-dev libmnl-dev pkg-config)
prepare=("${build[@]}" flex bison libssl-dev)
vm=(qemu-system-x86 busybox-static kmod xz-utils cpio iproute2 procps)
tests=("${vm[@]}" "${build[@]}" dpdk-dev ethtool iputils-ping python3)
demo=("${vm[@]}" "${build[@]}" iputils-ping binutils zstd python3)
ring=("${fetch[@]}" python3)
bench=("${vm[@]}" "${build[@]}" dpdk-dev linux-perf python3)
icount=("${vm[@]}" "${build[@]}" linux-perf valgrind binutils python3)
uml=("${build[@]}" flex bison patch)
kernel=("${build[@]}" flex bison)
guests=("${demo[@]}" "${uml[@]}")
fuzz=(make gcc libc6-dev clang llvm)
style=("${build[@]}" sparse coccinelle shellcheck perl python3)

if [ "${1:-}" = headers ]; then
	rel=$(uname -r)
	if [ "${2:-}" = "/lib/modules/$rel/build" ] &&
	   apt-cache show "linux-headers-$rel" >/dev/null 2>&1; then
		need_pkgs "linux-headers-$rel"
	fi
	[ -e "${2:-}/Makefile" ] ||
		die "no kernel headers in ${2:-}: give KDIR=…, for instance KDIR=\$(scripts/kernel.sh get ${VTAP_KERNELS[0]})/kdir"
	exit 0
fi

want=()
[ $# -gt 0 ] || set -- --help
for job in "$@"; do
	case $job in
	fetch)	want+=("${fetch[@]}") ;;
	prepare) want+=("${prepare[@]}") ;;
	build)	want+=("${build[@]}") ;;
	vm)	want+=("${vm[@]}") ;;
	test)	want+=("${tests[@]}") ;;
	demo)	want+=("${demo[@]}") ;;
	ring)	want+=("${ring[@]}") ;;
	bench)	want+=("${bench[@]}") ;;
	icount)	want+=("${icount[@]}") ;;
	kernel)	want+=("${kernel[@]}") ;;
	uml)	want+=("${uml[@]}") ;;
	guests)	want+=("${guests[@]}") ;;
	fuzz)	want+=("${fuzz[@]}") ;;
	style)	want+=("${style[@]}") ;;
	all)	want+=("${prepare[@]}" "${tests[@]}" "${demo[@]}" "${bench[@]}" "${icount[@]}" "${guests[@]}"
		      "${fuzz[@]}" "${style[@]}") ;;
	-h|--help) usage_from_header "$0"; exit 0 ;;
	*)	die "unknown job '$job'; try --help" ;;
	esac
done
mapfile -t want < <(printf '%s\n' "${want[@]}" | sort -u)
need_pkgs "${want[@]}"
# The sanitizers and libFuzzer are in a package that is named after clang's version.
if [[ " ${want[*]} " == *" clang "* ]]; then
	need_pkgs "libclang-rt-$(clang -dumpversion | cut -d . -f 1)-dev"
fi
