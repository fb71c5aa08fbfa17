#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# style.sh - what a patch must pass besides the tests; reported as TAP.
#
# usage: scripts/style.sh [NAME…]
#
#   checkpatch  the kernel's checkpatch.pl --strict on every C file
#   kernel-doc  the kernel's kernel-doc finds nothing to say
#   sparse      every supported kernel's build with C=2 W=1 is silent
#   coccicheck  the kernel's semantic patches find nothing
#   rules       the house rules: who may include what, no version tests outside
#               compat/, no BUG_ON, SPDX lines, file sizes, white space
#   scripts     shellcheck; python files compile
#
# The last line is "N passed, N failed, N skipped".
set -euo pipefail
. "$(dirname "$0")/lib.sh"

case ${1:-} in
-h|--help) usage_from_header "$0"; exit 0 ;;
esac
only=" $* "
work=$(mktemp -d)
on_exit "rm -rf '$work'"
cd "$VTAP_TREE"
"$VTAP_TREE/scripts/deps.sh" style
kernel_dir=$("$VTAP_TREE/scripts/kernel.sh" get "${VTAP_KERNELS[0]}")
checkers=$kernel_dir/src/scripts
n=0 passed=0 failed=0 skipped=0

wanted()
{
	[ "$only" = "  " ] || [[ $only == *" $1 "* ]]
}

# result NAME FINDINGS-FILE: passes if the file is empty, else shows it.
result()
{
	n=$((n + 1))
	if [ -s "$2" ]; then
		failed=$((failed + 1))
		head -n 60 "$2" | sed 's/^/# /'
		echo "not ok $n $1"
	else
		passed=$((passed + 1))
		echo "ok $n $1"
	fi
}

# files PATTERN…: what of the tree git would take, tracked or new.
files()
{
	git ls-files -co --exclude-standard -- "$@" | sort -u |
		while IFS= read -r f; do
			[ ! -e "$f" ] || printf '%s\n' "$f"
		done
}

# search REGEX PATTERN…: file:line:text of every match.
search()
{
	local regex=$1

	shift
	files "$@" | xargs -r -d '\n' grep -HnE "$regex" || :
}

do_checkpatch()
{
	local f ignore

	for f in $(files '*.c' '*.h'); do
		# Files, not patches; a name is camel case when a header made it so.
		# Locks are told by the kernel-doc of the structure.
		ignore=FILE_PATH_CHANGES,CAMELCASE,SPDX_LICENSE_TAG,UNCOMMENTED_DEFINITION
		case $f in
		drivers/vhost_tap/compat/*)
			ignore+=,LINUX_VERSION_CODE ;;
		include/trace/*)
			# Trace events are macros of a shape of their own.
			ignore+=,COMPLEX_MACRO,MACRO_ARG_UNUSED,TRAILING_SEMICOLON
			ignore+=,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,MULTISTATEMENT_MACRO_USE_DO_WHILE
			ignore+=,SPACING,MACRO_ARG_REUSE ;;
		tools/*|scripts/*)
			# Programs of userspace: no kernel helpers there.
			ignore+=,VOLATILE,CONSTANT_CONVERSION,PREFER_KERNEL_TYPES
			ignore+=,STRCPY,STRNCPY,STRLCPY,SSCANF_TO_KSTRTO,NEW_TYPEDEFS
			ignore+=,COMPLEX_MACRO,MACRO_ARG_REUSE,ENOSYS,AVOID_EXTERNS
			ignore+=,PREFER_DEFINED_ATTRIBUTE_MACRO,MEMORY_BARRIER
			ignore+=,MACRO_ARG_PRECEDENCE,MACRO_WITH_FLOW_CONTROL
			ignore+=,PREFER_FALLTHROUGH,ENOTSUPP,WEAK_DECLARATION
			ignore+=,EMBEDDED_FUNCTION_NAME,BRACKET_SPACE,LONG_LINE_STRING
			ignore+=,EXPORT_SYMBOL,AVOID_BUG,PRINTK_WITHOUT_KERN_LEVEL
			ignore+=,BIT_MACRO,ARRAY_SIZE,IS_ENABLED_CONFIG,MACRO_ARG_UNUSED
			# FIXTURE_VARIANT(x) *v is no multiplication.
			ignore+=,SPACING,MULTISTATEMENT_MACRO_USE_DO_WHILE ;;
		esac
		# The cache that checkpatch would leave in the tree goes elsewhere.
		(cd "$work" && perl "$checkers/checkpatch.pl" --no-tree --strict \
			--quiet --terse --show-types --no-summary \
			--ignore "$ignore" -f "$VTAP_TREE/$f") >"$work/out" 2>&1 || :
		# Without a tree it trips over its own missing root.
		sed -i "s|^$VTAP_TREE/||; /^total: /d; /^$/d
			/uninitialized value \$root/d; /^find: .\/include/d" "$work/out"
		result "checkpatch $f" "$work/out"
	done
}

do_kerneldoc()
{
	local structs

	files 'drivers/*.[ch]' 'include/uapi/*.h' |
		xargs -r -d '\n' perl "$checkers/kernel-doc" -none >"$work/out" 2>&1 || :
	# Members of a structure may be told by plain comments beside them;
	# parameters may not.
	structs=$(files 'drivers/*.h' | xargs -r -d '\n' \
		sed -nE 's/^(struct|union) ([a-z0-9_]+) \{$/\2/p' | tr '\n' '|')
	# The object that a function is named after needs no word either.
	grep -vE "member '[^']*' not described in '(${structs}none)'" "$work/out" |
		grep -vE "member '(dev|vq|r|s|pool|poll|stats|mem)' not described" \
		>"$work/doc" || :
	result "kernel-doc" "$work/doc"
}

do_sparse()
{
	local k rc

	for k in "${VTAP_KERNELS[@]}"; do
		say "sparse on $k"
		rc=0
		"$VTAP_TREE/scripts/kernel.sh" get "$k" >/dev/null || rc=$?
		if [ "$rc" = "$VTAP_GONE" ]; then
			n=$((n + 1)) skipped=$((skipped + 1))
			echo "ok $n sparse and W=1 on $k # SKIP nobody offers it any more"
			continue
		fi
		"$VTAP_TREE/scripts/build.sh" --kernel "$k" \
			--out "$VTAP_OUT/style/$k" C=2 W=1 >"$work/build" 2>&1 ||
			echo "error: the build failed" >>"$work/build"
		# What the kernel's own headers make sparse say is not ours to fix.
		grep -E 'warning|error' "$work/build" |
			grep -E 'vhost_tap[./]|error: ' |
			sed "s|$VTAP_OUT/style/$k/tree/||" | sort -u >"$work/out" || :
		result "sparse and W=1 on $k" "$work/out"
	done
}

do_coccicheck()
{
	local cocci options

	say "running the kernel's semantic patches"
	: >"$work/cocci"
	# shellcheck disable=SC2016 # the inner shell expands
	while IFS= read -r cocci; do
		grep -q '^virtual report' "$cocci" || continue
		options=$(sed -n 's|^// *Options: *||p' "$cocci" | tr '\n' ' ')
		printf '%s\0%s\0' "$cocci" "$options"
	done < <(find "$checkers/coccinelle" -name '*.cocci' | sort) |
		xargs -0 -r -n 2 -P "$(nproc)" bash -c '
			timeout 300 spatch -D report --very-quiet --no-show-diff \
				--cocci-file "$1" $2 --patch . --dir drivers/vhost_tap \
				-I drivers/vhost_tap -I include -I include/uapi \
				-I "$0/include" -I "$0/include/uapi" 2>/dev/null
			[ $? != 124 ] || echo "$1: took too long"
		' "$kernel_dir/src" >>"$work/cocci" || :
	grep -v '^$' "$work/cocci" | sort -u >"$work/out" || :
	result "coccicheck" "$work/out"
}

# The ring code reaches the kernel through guest.h and these, which userspace
# has as well or which its shim replaces.
PURE='linux/(types|errno|kernel|stddef|string|limits|minmax|overflow|compiler|log2|build_bug|bits|cache|virtio_ring|virtio_net|virtio_config|virtio_types|virtio_byteorder|vhost|vhost_types|vhost_iotlb|vhost_tap)\.h'
PORTABLE='ring_*.c ring*.h mem.c mem.h iotlb.c iotlb.h iotlb_msg.c iotlb_msg.h log.c log.h'

do_rules()
{
	local f g name lines

	: >"$work/out"
	for g in $PORTABLE; do
		for f in $(files "drivers/vhost_tap/$g"); do
			grep -nE '^[[:space:]]*#[[:space:]]*include' "$f" |
				grep -vE "<$PURE>|\"(guest|ring|ring_split|ring_packed|mem|iotlb|iotlb_msg|log)\.h\"" |
				sed "s|^|$f:|; s|\$|   (the ring code takes guest.h and pure headers only)|" >>"$work/out" || :
		done
	done
	result "rules: includes of the portable ring code" "$work/out"

	search 'if_(tun|tap)\.h' 'drivers/vhost_tap/*.[ch]' |
		grep -vE '^drivers/vhost_tap/(sock\.c|compat/)' >"$work/out" || :
	result "rules: only sock.c knows tun and tap" "$work/out"

	search 'LINUX_VERSION_CODE|KERNEL_VERSION|linux/version\.h|RHEL_RELEASE' \
		'drivers/*' 'include/*' |
		grep -v '^drivers/vhost_tap/compat/' >"$work/out" || :
	result "rules: version tests only in compat/" "$work/out"

	search '\b(BUG|BUG_ON|VM_BUG_ON|panic)[[:space:]]*\(' 'drivers/*.[ch]' >"$work/out"
	result "rules: nothing stops the machine (BUG, BUG_ON, panic)" "$work/out"

	# Payload goes through iov_iter, ioctl arguments through uapi.c,
	# worker_uapi.c and vq.c.
	search '\b(__)?(copy_(from|to)_user|(get|put)_user|unsafe_(get|put)_user|user_access_begin)\b' \
		'drivers/vhost_tap/*.[ch]' |
		grep -vE '^drivers/vhost_tap/(guest\.h|(worker_)?uapi\.c|vq\.c|compat/)' |
		grep -vE ':[[:space:]]*(/?\*|//)' >"$work/out" || :
	result "rules: guest memory through guest.h alone" "$work/out"

	: >"$work/out"
	for f in $(files '*.c' '*.h' '*.sh' '*.py' Makefile '*/Makefile' '*Kbuild' dkms.conf); do
		head -n 2 "$f" | grep -q 'SPDX-License-Identifier: ' ||
			echo "$f: no SPDX line at its top" >>"$work/out"
	done
	result "rules: SPDX lines" "$work/out"

	: >"$work/out"
	for f in $(files 'drivers/*.[ch]' 'tools/*.[ch]' 'include/*.h'); do
		lines=$(wc -l <"$f")
		[ "$lines" -le 700 ] || echo "$f: $lines lines; split it" >>"$work/out"
	done
	result "rules: no file above 700 lines" "$work/out"

	: >"$work/out"
	for f in $(files 'drivers/vhost_tap/*.[ch]' 'tools/*.c'); do
		name=$(sed -n '2,3p' "$f")
		[[ $name == *'/*'* ]] || echo "$f: does not open with a comment on what it is for" >>"$work/out"
	done
	result "rules: every file says what it is for" "$work/out"

	scripts/check-names.py >"$work/out" 2>&1 || :
	result "rules: names of the netlink spec are the same everywhere" "$work/out"

	scripts/check-cases.py >"$work/out" 2>&1 || :
	result "rules: tests that the security model names exist" "$work/out"

	files | xargs -d '\n' grep -nIE '[[:space:]]+$' |
		grep -v '\.patch:' >"$work/out" || :
	result "rules: no white space at line ends" "$work/out"
}

do_scripts()
{
	local f shells=()

	for f in $(files 'scripts/*' '.ci/*' 'tools/*'); do
		head -n 1 "$f" 2>/dev/null | grep -aqE '^#!.*\b(bash|sh)$' || continue
		# busybox's shell is checked as its nearest relative
		shells+=("$f")
	done
	shellcheck -e SC2187 -f gcc "${shells[@]}" scripts/lib.sh >"$work/out" 2>&1 || :
	result "shellcheck" "$work/out"
	: >"$work/out"
	for f in $(files '*.py' 'scripts/demo/proof'); do
		python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' \
			"$f" >>"$work/out" 2>&1 || :
	done
	result "python files compile" "$work/out"
}

echo "TAP version 13"
! wanted checkpatch || do_checkpatch
! wanted kernel-doc || do_kerneldoc
! wanted rules || do_rules
! wanted scripts || do_scripts
! wanted sparse || do_sparse
! wanted coccicheck || do_coccicheck
echo "1..$n"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$n" -gt 0 ] || die "nothing ran; try --help"
[ "$failed" = 0 ]
