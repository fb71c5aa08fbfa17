#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# kernel.sh - fetch Debian's kernel packages into the cache folder and unpack
# them there; nothing is installed and apt's configuration is left alone. Or build
# a kernel from linux-source, for checks that Debian's do not make.
#
# usage: scripts/kernel.sh get SERIES [--refresh]
#                                    print the folder of the newest SERIES; ends
#                                    with status 3 if it is of another suite than
#                                    Debian 12's, and the mirror does not offer it
#        scripts/kernel.sh get SERIES-debug
#        scripts/kernel.sh get SERIES-race
#                                    that of a kernel that looks for misused
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
#   vmlinuz config               the image
#   lib/modules/RELEASE/         its modules, not compressed, with depmod's
#                                indexes; `build` points to kdir
#   kdir/                        the headers, good for make -C …/kdir M=…; where
#                                the headers package wants a newer Debian than
#                                this one, src/ itself, prepared for that
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
# Series that Debian 12 lacks come from a backports suite, through package lists of our
# own beside the system's.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

KDIR_CACHE=$VTAP_CACHE/kernels
VM=$VTAP_TREE/scripts/vm
LAYOUT=3	# raise it when the layout above changes

# suite SERIES: where it comes from.
suite()
{
	case $1 in
	6.*)	echo bookworm ;;
	*)	echo trixie-backports ;;
	esac
}

# Is it made for this Debian, so that all of its packages work here?
native()
{
	[ "$(suite "$1")" = bookworm ]
}

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

# Sets APT_OPTS so that apt reads lists of our own, of the suite that has SERIES,
# from the system's mirror: for what the system's own sources lack. Nothing
# outside the cache folder changes.
apt_private()
{
	local suite d main security
	local by='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'

	suite=$(suite "$1")
	d=$VTAP_CACHE/apt/$suite
	main=$(mirror Debian)
	security=$(mirror Debian-Security)
	[ -n "$main" ] || return 1
	mkdir -p "$d/lists/partial" "$d/cache/archives/partial"
	{
		echo "deb $by $main $suite main"
		[ -z "$security" ] || [ "$suite" != bookworm ] ||
			echo "deb $by $security bookworm-security main"
	} >"$d/sources.list"
	apt_system
	APT_OPTS+=(-o Dir::Etc::sourcelist="$d/sources.list"
		   -o Dir::Etc::sourceparts=/dev/null
		   -o Dir::Etc::preferences=/dev/null
		   -o Dir::Etc::preferencesparts=/dev/null
		   -o Dir::State::lists="$d/lists" -o Dir::Cache="$d/cache")
	say "reading package lists of $suite, beside the system's"
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

	mkdir -p "$d/deb" || return 1
	if ! native "$series"; then
		# An image in three parts, and no programs that would not run here.
		say "downloading linux $REL in parts, and linux-source-$series"
		(cd "$d/deb" && apt-get "${APT_OPTS[@]}" -q download \
			"linux-binary-unsigned-$REL" "linux-modules-$REL" \
			"linux-base-$REL" "linux-headers-$REL" \
			"linux-source-$series" >&2)
		return
	fi
	image=linux-image-$REL-unsigned
	pkg_known "$image" || image=linux-image-$REL
	deps=$(pkg_field "linux-headers-$REL" Depends)
	common=$(grep -oE 'linux-headers-[^ ,]+-common\b' <<<"$deps" | head -n 1)
	kbuild=$(grep -oE 'linux-kbuild-[^ ,]+' <<<"$deps" | head -n 1)
	if [ -z "$common" ] || [ -z "$kbuild" ]; then
		die "linux-headers-$REL names no -common or -kbuild package"
	fi
	say "downloading $image, its headers and linux-source-$series"
	(cd "$d/deb" && apt-get "${APT_OPTS[@]}" -q download "$image" \
		"linux-headers-$REL" "$common" "$kbuild" \
		"linux-source-$series" >&2)
}

# The image and its modules, from the one package or from its parts.
unpack_image()
{
	local d=$1 pk dir

	say "unpacking the image and its modules"
	for pk in "$d"/deb/linux-{image,binary,modules,base}-*.deb; do
		[ ! -e "$pk" ] || dpkg -x "$pk" "$d/image"
	done
	mkdir -p "$d/lib"
	for dir in lib usr/lib; do
		[ ! -d "$d/image/$dir/modules" ] || mv "$d/image/$dir/modules" "$d/lib/"
	done
	for dir in "$d/lib/modules/$REL" "$d/image/boot"; do
		for pk in "$dir"/vmlinuz*; do
			[ ! -e "$pk" ] || mv "$pk" "$d/vmlinuz"
		done
		for pk in "$dir"/config "$dir"/config-*; do
			[ ! -e "$pk" ] || mv "$pk" "$d/config"
		done
	done
	if [ ! -e "$d/vmlinuz" ] || [ ! -e "$d/config" ]; then
		die "no image in the packages of $REL"
	fi
	rm -rf "$d/image"
}

# unpack SERIES DIR: turns what download got into the layout above.
unpack()
{
	local series=$1 d=$2 pk

	unpack_image "$d"
	say "unpacking the headers"
	mkdir -p "$d/headers"
	for pk in "$d"/deb/linux-headers-*.deb "$d"/deb/linux-kbuild-*.deb; do
		[ ! -e "$pk" ] || dpkg -x "$pk" "$d/headers"
	done
	# The package's Makefile names its -common half by absolute path.
	sed -i "s|^include /usr/src/|include \$(dir \$(lastword \$(MAKEFILE_LIST)))../|" \
		"$d/headers/usr/src/linux-headers-$REL/Makefile"
	# With a vmlinux present kbuild would want pahole, for BTF nobody reads.
	rm -f "$d/headers/usr/src/linux-headers-$REL/vmlinux"
	rm -rf "$d/headers/usr/share" "$d/headers/lib"
	if native "$series"; then
		ln -s "headers/usr/src/linux-headers-$REL" "$d/kdir"
	else
		ln -s src "$d/kdir"
	fi
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
	make -s -C "$d/src" -j"$(nproc)" ARCH=x86 headers >"$d/deb/headers.log" 2>&1 ||
		{ tail -n 20 "$d/deb/headers.log" >&2
		  die "make headers failed in linux-source-$series"; }

	native "$series" || prepare_source "$series" "$d"
	rm -rf "$d/deb"
	echo "$series" >"$d/series"
	echo "$REL" >"$d/release"
	echo "$VERSION" >"$d/version"
}

# prepare_source SERIES DIR: make DIR/src good for building modules, as the headers
# package is elsewhere: with the programs of kbuild built here, the image's
# configuration and its symbols.
prepare_source()
{
	local series=$1 d=$2 src=$2/src headers=$2/headers/usr/src/linux-headers-$REL
	local pahole=$2/src/scripts/pahole-said

	say "preparing linux-source-$series for building modules"
	# All that kconfig reads, and what the programs of kbuild are made of.
	tar -xf "$d/deb/src.tar" -C "$src" --strip-components=1 \
		--wildcards --no-same-owner \
		'linux-source-*/Kconfig*' 'linux-source-*/Makefile' \
		'linux-source-*/kernel' 'linux-source-*/security' \
		'linux-source-*/certs' 'linux-source-*/init' \
		'linux-source-*/tools/objtool' 'linux-source-*/tools/bpf'
	cp "$headers/.config" "$src/.config"
	# BTF is made by pahole, for nobody here: but options that change structures of
	# the kernel depend on it. So there is a program that says the version alone.
	printf '#!/bin/sh\necho v%s\n' \
		"$(sed -n 's/^CONFIG_PAHOLE_VERSION=\(.\)/\1./p' "$headers/.config")" >"$pahole"
	chmod +x "$pahole"
	# shellcheck disable=SC2016 # make expands it
	sed -i 's|^PAHOLE[[:space:]]*=.*|PAHOLE = $(srctree)/scripts/pahole-said|' "$src/Makefile"
	# The certificates that Debian signs with are not for us.
	"$src/scripts/config" --file "$src/.config" \
		--set-str SYSTEM_TRUSTED_KEYS '' --set-str MODULE_SIG_KEY '' \
		--disable MODULE_SIG_ALL
	make -s -C "$src" LOCALVERSION="+${REL#*+}" olddefconfig modules_prepare \
		-j"$(nproc)" >"$d/deb/prepare.log" 2>&1 ||
		{ tail -n 20 "$d/deb/prepare.log" >&2
		  die "linux-source-$series cannot be prepared"; }
	cp "$headers/Module.symvers" "$src/Module.symvers"
	rm -rf "$d/headers"
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
		apt_private "$series" || continue
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
		native "$series" || [ $try = private ] || continue
		case $try in
		system)	 apt_system ;;
		updated) apt_update ;;
		private) apt_private "$series" || break ;;
		esac
		resolve "$series" || continue
		if [ -d "$DIR" ]; then
			got=have
			break
		fi
		"$VTAP_TREE/scripts/deps.sh" fetch
		native "$series" || "$VTAP_TREE/scripts/deps.sh" prepare
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
		if [ -z "$DIR" ]; then
			say "error: apt offers no linux-headers-$series…-amd64 in $(suite "$series"): is Debian's archive among apt's sources, and can it be reached?"
			native "$series" && exit 1
			exit "$VTAP_GONE"
		fi
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
