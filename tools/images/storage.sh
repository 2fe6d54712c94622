#!/usr/bin/env bash
# What the scripts here share: buildah, with a store of its own in the cache. They source it, and say before in `needs`
# which programs they run.
# shellcheck disable=SC2034,SC2154 # so names come from them, and go to them

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cairn}
bin=${CAIRN_BIN:-$cache/bin}
store=$cache/images

if ((EUID)); then
	echo "${0##*/}: images are built by root, in a chroot: there may be no other way to isolate a step here" >&2
	exit 1
fi
missing=()
for program in "${needs[@]}"; do
	command -v "$program" >/dev/null || missing+=("$program")
done
if ((${#missing[@]})); then
	echo "${0##*/}: missing; install them with: apt-get install --no-install-recommends ${missing[*]}" >&2
	exit 1
fi

# Layers that buildah left mounted, the innermost first.
unmount() {
	awk -v at="$store/storage" 'index($2, at) == 1 {print $2}' /proc/self/mounts | sort -r | xargs -r umount
}

mkdir -p "$store/tmp"
if [[ -z ${CAIRN_IMAGES_LOCKED:-} ]]; then
	exec 8>"$store/.lock"
	flock 8 # one build at a time, whatever the checkout
	export CAIRN_IMAGES_LOCKED=1 # for the scripts that this one calls
	trap unmount EXIT

	# Every build leaves layers, which make the next one quick; some twenty builds later it is time to start over.
	most=$((${CAIRN_IMAGES_GIB:-6} << 20)) # KiB
	if [[ -d $store/storage ]] && (($(du -skx "$store/storage" | cut -f1) > most)); then
		echo "emptying $store/storage, which is over $((most >> 20)) GiB" >&2
		unmount
		rm -rf "$store/storage" "$store/run"
	fi
fi
export TMPDIR=$store/tmp BUILDAH_ISOLATION=chroot

# Where the kernel or the file system has no overlay, files are copied: slower, and always possible.
driver=$(cat "$store/driver" 2>/dev/null) || {
	driver=vfs
	if buildah --root "$store/storage" --runroot "$store/run" --storage-driver overlay info >/dev/null 2>&1; then driver=overlay; fi
	echo "$driver" >"$store/driver"
}
buildah() { command buildah --root "$store/storage" --runroot "$store/run" --storage-driver "$driver" "$@"; }

host=$(go env GOHOSTARCH)

quiet() { # runs a command, and shows what it printed only if it fails
	if ! "$@" >"$store/log" 2>&1; then
		cat "$store/log" >&2
		return 1
	fi
}
