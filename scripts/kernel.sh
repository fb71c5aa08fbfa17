#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# kernel.sh - fetch Debian's kernel packages into the cache folder and unpack
# them there; nothing is installed and apt's configuration is left alone. Or build
# a kernel from linux-source, for checks that Debian's do not make.
#
# usage: scripts/kernel.sh get SERIES [--refresh]
#                                    print the folder of the newest SERIES
#        scripts/kernel.sh get SERIES-debug
#        scripts/kernel.sh get SERIES-race
#                                    the same of a kernel that looks for misused
#                                    memory and locks, or for data races; builds
#                                    it if the cache lacks it (some minutes)
#        scripts/kernel.sh source SERIES DIR
#                                    unpack all of linux-source-SERIES into DIR,
#                                    of the version that `get` has, if apt still
#                                    offers it; print the version
#        scripts/kernel.sh list      print what the cache holds
#        scripts/kernel.sh series    print the supported series
#
# What `get` prints is a folder with
#   series release version       one line each: 6.12, uname -r, package version
#   vmlinuz config               the image package
#   lib/modules/RELEASE/         its modules, not compressed, with depmod's
#                                indexes; `build` points to kdir
#   kdir/                        the headers, good for make -C …/kdir M=…
#   src/                         of linux-source: scripts/ (checkpatch,
#                                coccinelle), tools/{testing/selftests,include,
#                                virtio,…}, include/, arch/x86/, drivers/vhost,
#                                drivers/virtio, drivers/net/*.c, net/core, …
#   src/usr/include/             the exported UAPI headers
#
# The newest version is asked of apt's lists once a day, or with --refresh;
# folders are keyed by package version and never change once published. Those of
# kernels that are built here are keyed by their configuration as well (vm.config
# and another in scripts/vm), and have a `version` once they are complete; a build
# that was interrupted goes on where it was.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

KDIR_CACHE=$VTAP_CACHE/kernels
VM=$VTAP_TREE/scripts/vm
LAYOUT=3	# raise it when the layout above changes

# Sets APT_OPTS so that apt reads the system's own package lists.
apt_system()
{
	APT_OPTS=(-o DPkg::Lock::Timeout=600 -o APT::Sandbox::User=root)
}

# mirror LABEL: address of the archive of that label among the system's sources.
# shellcheck disable=SC2016 # apt expands it
mirror()
{
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
		"Label: $1" 2>/dev/null | head -n 1
}

# Sets APT_OPTS so that apt reads lists of our own, of Debian 12, from the
# system's mirror: for a system whose own sources lack a series. Nothing outside
# the cache folder changes. A series of another suite would get its folder here.
apt_private()
{
	local d=$VTAP_CACHE/apt/bookworm main security
	local by='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'

	main=$(mirror Debian)
	security=$(mirror Debian-Security)
	[ -n "$main" ] || return 1
	mkdir -p "$d/lists/partial" "$d/cache/archives/partial"
	{
		echo "deb $by $main bookworm main"
		[ -z "$security" ] || echo "deb $by $security bookworm-security main"
	} >"$d/sources.list"
	apt_system
	APT_OPTS+=(-o Dir::Etc::sourcelist="$d/sources.list"
		   -o Dir::Etc::sourceparts=/dev/null
		   -o Dir::Etc::preferences=/dev/null
		   -o Dir::Etc::preferencesparts=/dev/null
		   -o Dir::State::lists="$d/lists" -o Dir::Cache="$d/cache")
	say "reading Debian 12's package lists, beside the system's"
	apt-get "${APT_OPTS[@]}" -qq update >&2
}

# newest_release SERIES: newest uname -r that has headers, or nothing.
newest_release()
{
	apt-cache "${APT_OPTS[@]}" pkgnames "linux-headers-$1." |
		grep -E "^linux-headers-${1//./\\.}\.[0-9][0-9.+~a-z-]*-amd64\$" |
		grep -vE -- '-(cloud|rt)-amd64$' |
		sed 's/^linux-headers-//' | sort -V | tail -n 1
}

pkg_field()	# PACKAGE FIELD
{
	apt-cache "${APT_OPTS[@]}" show --no-all-versions "$1" 2>/dev/null |
		sed -n "s/^$2: //p" | head -n 1
}

pkg_known()
{
	apt-cache "${APT_OPTS[@]}" pkgnames "$1" | grep -qxF "$1"
}

# resolve SERIES: sets REL, VERSION and DIR; fails if apt knows no such kernel.
resolve()
{
	REL=$(newest_release "$1" || :)
	[ -n "$REL" ] || return 1
	VERSION=$(pkg_field "linux-headers-$REL" Version)
	[ -n "$VERSION" ] || return 1
	DIR=$KDIR_CACHE/$1-$(tr '~:' '__' <<<"$VERSION")-l$LAYOUT
}

# download SERIES INTO: gets the packages into INTO/deb; fails if apt cannot.
# Its caller tests its answer, so nothing in here may rely on set -e.
download()
{
	local series=$1 d=$2 image deps common kbuild

	image=linux-image-$REL-unsigned
	pkg_known "$image" || image=linux-image-$REL
	deps=$(pkg_field "linux-headers-$REL" Depends)
	common=$(grep -oE 'linux-headers-[^ ,]+-common\b' <<<"$deps" | head -n 1)
	kbuild=$(grep -oE 'linux-kbuild-[^ ,]+' <<<"$deps" | head -n 1)
	if [ -z "$common" ] || [ -z "$kbuild" ]; then
		die "linux-headers-$REL names no -common or -kbuild package"
	fi
	mkdir -p "$d/deb" || return 1
	say "downloading $image, its headers and linux-source-$series"
	(cd "$d/deb" && apt-get "${APT_OPTS[@]}" -q download "$image" \
		"linux-headers-$REL" "$common" "$kbuild" \
		"linux-source-$series" >&2)
}

# unpack SERIES DIR: turns what download got into the layout above.
unpack()
{
	local series=$1 d=$2 pk dir

	say "unpacking the image and its modules"
	dpkg -x "$d"/deb/linux-image-*.deb "$d/image"
	mv "$d/image/boot/vmlinuz-$REL" "$d/vmlinuz"
	mv "$d/image/boot/config-$REL" "$d/config"
	mkdir -p "$d/lib"
	for dir in lib usr/lib; do
		[ ! -d "$d/image/$dir/modules" ] || mv "$d/image/$dir/modules" "$d/lib/"
	done
	rm -rf "$d/image"

	say "unpacking the headers"
	mkdir -p "$d/headers"
	for pk in "$d"/deb/linux-headers-*.deb "$d"/deb/linux-kbuild-*.deb; do
		dpkg -x "$pk" "$d/headers"
	done
	# The package's Makefile names its -common half by absolute path.
	sed -i "s|^include /usr/src/|include \$(dir \$(lastword \$(MAKEFILE_LIST)))../|" \
		"$d/headers/usr/src/linux-headers-$REL/Makefile"
	# With a vmlinux present kbuild would want pahole, for BTF nobody reads.
	rm -f "$d/headers/usr/src/linux-headers-$REL/vmlinux"
	rm -rf "$d/headers/usr/share" "$d/headers/lib"
	ln -s "headers/usr/src/linux-headers-$REL" "$d/kdir"
	rm -f "$d/lib/modules/$REL/build" "$d/lib/modules/$REL/source"
	ln -s ../../../kdir "$d/lib/modules/$REL/build"
	# Plain modules: depmod takes a second instead of seven, loading one under
	# emulation a tenth, and busybox's insmod can read them.
	find "$d/lib/modules" -name '*.ko.xz' -print0 |
		xargs -0 -r -n 64 -P "$(nproc)" xz -d
	depmod -b "$d" "$REL"

	say "unpacking the needed parts of linux-source-$series"
	dpkg --fsys-tarfile "$d"/deb/linux-source-*.deb |
		tar -xO --wildcards './usr/src/linux-source-*.tar.*' >"$d/deb/src.tar"
	mkdir "$d/src"
	tar -xf "$d/deb/src.tar" -C "$d/src" --strip-components=1 \
		--wildcards --no-wildcards-match-slash --no-same-owner \
		'linux-source-*/[A-Z]*' --exclude 'linux-source-*/Documentation' \
		'linux-source-*/.[a-z]*' \
		'linux-source-*/arch/Kconfig' 'linux-source-*/arch/x86' \
		'linux-source-*/scripts' 'linux-source-*/include' \
		'linux-source-*/usr' \
		'linux-source-*/tools/Makefile' 'linux-source-*/tools/arch' \
		'linux-source-*/tools/build' 'linux-source-*/tools/include' \
		'linux-source-*/tools/lib' \
		'linux-source-*/tools/scripts' 'linux-source-*/tools/virtio' \
		'linux-source-*/tools/testing/selftests' \
		'linux-source-*/drivers/vhost' 'linux-source-*/drivers/virtio' \
		'linux-source-*/drivers/net/*.[ch]' \
		'linux-source-*/kernel/*.[ch]' 'linux-source-*/lib/*.[ch]' \
		'linux-source-*/net/core' 'linux-source-*/net/packet' \
		'linux-source-*/net/netlink'
	# ynl; older series have none.
	tar -xf "$d/deb/src.tar" -C "$d/src" --strip-components=1 \
		--wildcards --no-same-owner 'linux-source-*/tools/net' \
		2>/dev/null || :
	say "exporting the UAPI headers"
	make -s -C "$d/src" ARCH=x86 headers >"$d/deb/headers.log" 2>&1 ||
		{ tail -n 20 "$d/deb/headers.log" >&2
		  die "make headers failed in linux-source-$series"; }

	rm -rf "$d/deb"
	echo "$series" >"$d/series"
	echo "$REL" >"$d/release"
	echo "$VERSION" >"$d/version"
}

# source_into SERIES DIR: all of linux-source, for those who build a kernel.
source_into()
{
	local series=$1 d=$2 pkg=linux-source-$1 version try

	need_kernel_name "$series"
	"$VTAP_TREE/scripts/deps.sh" fetch
	version=$(<"$(get "$series")/version")
	mkdir -p "$d/.deb"
	d=$(cd "$d" && pwd -P)
	for try in "$pkg=$version" "$pkg"; do
		apt_system
		say "downloading $try"
		(cd "$d/.deb" && apt-get "${APT_OPTS[@]}" -q download "$try" >&2) && break
		apt_private || continue
		(cd "$d/.deb" && apt-get "${APT_OPTS[@]}" -q download "$try" >&2) && break
	done
	compgen -G "$d/.deb/*.deb" >/dev/null ||
		die "apt offers no $pkg: is Debian's archive among apt's sources, and can it be reached?"
	say "unpacking it"
	dpkg --fsys-tarfile "$d"/.deb/*.deb |
		tar -xO --wildcards './usr/src/linux-source-*.tar.*' >"$d/.deb/src.tar"
	tar -xf "$d/.deb/src.tar" -C "$d" --strip-components=1 --no-same-owner
	dpkg-deb -f "$d"/.deb/*.deb Version
	rm -rf "$d/.deb"
}

newest_cached()
{
	find "$KDIR_CACHE" -maxdepth 1 -type d -name "$1-[0-9]*-l$LAYOUT" 2>/dev/null |
		sort -V | tail -n 1
}

# refresh_locked SERIES: make the newest SERIES present and current. Holds the
# lock, so what a killed run left half-made belongs to nobody.
refresh_locked()
{
	local series=$1 tmp got="" try

	rm -rf "$KDIR_CACHE"/.tmp."$series".*
	tmp=$(mktemp -d "$KDIR_CACHE/.tmp.$series.XXXXXX")
	on_exit "rm -rf '$tmp'"
	chmod 755 "$tmp"
	for try in system updated private; do
		# The first try may meet no lists, or lists older than the mirror.
		case $try in
		system)	 apt_system ;;
		updated) apt_update ;;
		private) apt_private || break ;;
		esac
		resolve "$series" || continue
		if [ -d "$DIR" ]; then
			got=have
			break
		fi
		"$VTAP_TREE/scripts/deps.sh" fetch
		if download "$series" "$tmp"; then
			got=new
			break
		fi
	done
	case $got in
	new)	unpack "$series" "$tmp"
		# Published in one step.
		mv -T "$tmp" "$DIR"
		say "linux $series ($VERSION) is in $DIR" ;;
	'')	DIR=$(newest_cached "$series")
		[ -n "$DIR" ] || die "apt offers no linux-headers-$series…-amd64: is Debian's archive among apt's sources, and can it be reached?"
		say "apt offers no linux $series now; using the cached one" ;;
	esac
	rm -rf "$tmp"
	echo "$DIR" >"$KDIR_CACHE/.current.$series.new"
	mv "$KDIR_CACHE/.current.$series.new" "$KDIR_CACHE/.current.$series"
}

# trim_built DIR: what is not needed to build modules goes; it is most of it.
trim_built()
{
	find "$1/linux" -mindepth 1 -maxdepth 1 -type d ! -name arch ! -name include \
		! -name scripts ! -name tools -exec rm -rf {} +
	find "$1/linux/arch" -mindepth 1 -maxdepth 1 -type d ! -name x86 -exec rm -rf {} +
	find "$1/linux/tools" -mindepth 1 -maxdepth 1 ! -name include ! -name scripts \
		! -name build -exec rm -rf {} +
	# objtool is a program of kdir/tools.
	find "$1/kdir" -mindepth 1 -maxdepth 1 ! -name arch ! -name include \
		! -name scripts ! -name tools ! -name source ! -name Makefile \
		! -name .config ! -name Module.symvers -exec rm -rf {} +
	find "$1/kdir/arch" \( -name '*.o' -o -name '*.a' -o -name 'vmlinux*' -o -name bzImage \) -delete
}

# build_make DIR ARGUMENTS...: with its output in DIR/build.log, and a line a minute.
build_make()
{
	local d=$1 ticker rc=0

	shift
	(while sleep 60 >/dev/null 2>&1; do
		say "$(grep -c '^  CC ' "$d/build.log") files are compiled"
	done) </dev/null >/dev/null &
	ticker=$!
	on_exit "kill $ticker 2>/dev/null"
	run_child nice -n 10 make -C "$d/kdir" "$@" >>"$d/build.log" 2>&1 </dev/null || rc=$?
	kill "$ticker" 2>/dev/null || :
	[ "$rc" = 0 ] || {
		grep -E -A 5 'error:|Error [0-9]' "$d/build.log" | tail -n 20 >&2
		die "the kernel does not build (all of it: $d/build.log)"
	}
}

# build_kernel NAME BASE DIR: from the source of BASE's version. Holds the lock.
build_kernel()
{
	local name=$1 base=$2 d=$3 line old start=$SECONDS

	"$VTAP_TREE/scripts/deps.sh" fetch kernel
	if [ ! -e "$d/unpacked" ]; then
		# What killed builds left; the lock is ours.
		for old in "$KDIR_CACHE/$name-"*; do
			[ -e "$old/version" ] || rm -rf "$old"
		done
		mkdir -p "$d/kdir"
		source_into "${name%%-*}" "$d/linux" >"$d/unpacked.new"
		mv "$d/unpacked.new" "$d/unpacked"
	fi
	say "building $name, about 7 minutes on two processors; output in $d/build.log"
	cat "$VM/vm.config" "$VM/${name#*-}.config" >"$d/all.config"
	echo "CONFIG_LOCALVERSION=\"-${name#*-}\"" >>"$d/all.config"
	[ -e "$d/kdir/Makefile" ] ||
		make -C "$d/linux" O="$d/kdir" KCONFIG_ALLCONFIG="$d/all.config" \
			allnoconfig >"$d/build.log" 2>&1 ||
		die "the configuration is not good; see $d/build.log"
	while read -r line; do
		grep -qxF "$line" "$d/kdir/.config" || die "the configuration lacks $line"
	done < <(grep '^CONFIG' "$d/all.config")
	build_make "$d" -j"$(nproc)" bzImage modules
	build_make "$d" INSTALL_MOD_PATH="$d" modules_install

	cp "$d/kdir/include/config/kernel.release" "$d/release"
	cp "$d/kdir/arch/x86/boot/bzImage" "$d/vmlinuz"
	cp "$d/kdir/.config" "$d/config"
	ln -sfn ../../../kdir "$d/lib/modules/$(<"$d/release")/build"
	ln -sfn "../$(basename "$base")/src" "$d/src"
	trim_built "$d"
	echo "$name" >"$d/series"
	echo "$(<"$d/unpacked") $(basename "$d")" >"$d/version"
	say "$name ($(<"$d/release")) is in $d; it took $((SECONDS - start)) s"
}

get_built()	# NAME
{
	local name=$1 base d

	base=$(get "${name%%-*}")
	d=$KDIR_CACHE/$name-$(tr '~:' '__' <"$base/version")
	d+=-$(cat "$VM/vm.config" "$VM/${name#*-}.config" | sha256sum | cut -c 1-12)-l$LAYOUT
	if [ ! -e "$d/version" ]; then
		take_lock "$KDIR_CACHE/.lock.$name"
		[ -e "$d/version" ] || build_kernel "$name" "$base" "$d"
		drop_lock
	fi
	echo "$d"
}

get()
{
	local series=$1 refresh=${2:-} stamp=$KDIR_CACHE/.current.$1 dir=

	need_kernel_name "$series"
	[ -z "$refresh" ] || [ "$refresh" = --refresh ] || die "unknown option $refresh"
	if is_built_kernel "$series"; then
		get_built "$series"
		return
	fi
	mkdir -p "$KDIR_CACHE"
	if [ -z "$refresh" ] && [ -n "$(find "$stamp" -mmin -1440 2>/dev/null)" ]; then
		dir=$(<"$stamp")
		[ "${dir%-l"$LAYOUT"}" != "$dir" ] && [ -d "$dir" ] || dir=
	fi
	if [ -z "$dir" ]; then
		take_lock "$KDIR_CACHE/.lock.$series"
		refresh_locked "$series"
		drop_lock
		dir=$(<"$stamp")
	fi
	echo "$dir"
}

case ${1:-} in
get)	[ $# -ge 2 ] || die "get which series? one of: ${VTAP_KERNELS[*]}"
	get "$2" "${3:-}" ;;
source)	[ $# = 3 ] || die "source of which series, into which folder?"
	source_into "$2" "$3" ;;
list)	find "$KDIR_CACHE" -maxdepth 1 -type d -name "[0-9]*-l$LAYOUT" 2>/dev/null | sort -V ;;
series)	printf '%s\n' "${VTAP_KERNELS[@]}" ;;
-h|--help) usage_from_header "$0" ;;
*)	usage_from_header "$0" >&2; exit 2 ;;
esac
