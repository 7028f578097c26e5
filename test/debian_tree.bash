# A tree of a Debian release made by debootstrap, for tests in another release than the
# host's.  Sourced, with these set:
#   name      of the test, for its messages
#   suite     the release
#   tree      where the tree is or goes
#   packages  what is in it, separated by commas
# Ends with exit code 77 where it cannot be tried: not root, no debootstrap, no mirror.  What the
# test has counted before (passed, failed) is told then, too, and a failure stays one.
# SPDX-License-Identifier: BSD-3-Clause

skip() {
    echo "$name: skipped: $1"
    [[ -n ${passed:-} ]] && echo "$passed passed, ${failed:-0} failed"
    [[ ${failed:-0} == 0 ]] || exit 1
    exit 77
}
die() { echo "$name: $1"; exit 1; }

tree_tools_check() {
    local tool
    [[ $(id -u) == 0 ]] || skip 'needs root for debootstrap and chroot'
    for tool in unshare flock tar chroot; do
        command -v $tool >/dev/null || skip "$tool is missing (util-linux, coreutils, tar)"
    done
}

# $mirror: the archive that apt fetches this release from, by apt's proxy.  1: $mirror_lacks says what is missing.
mirror_find() {
    local codename http_proxy_apt=
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME)' 2>/dev/null |
        sed -n "s/^\\(.*\\) $codename\$/\\1/p" | sort -u | head -1)
    mirror_lacks="apt names no mirror for $codename by http, https or file (apt-get update?)"
    [[ $mirror =~ ^(https?|file): ]] || return
    eval "$(apt-config shell http_proxy_apt Acquire::http::Proxy)"
    [[ -n $http_proxy_apt && $http_proxy_apt != DIRECT ]] && export http_proxy=$http_proxy_apt
    return 0
}

tree_make() {
    command -v debootstrap >/dev/null || skip 'debootstrap is missing (apt-get install debootstrap)'
    mirror_find || skip "$mirror_lacks"
    echo "$name: making $tree from $mirror (minutes)"
    rm -rf --one-file-system "$tree.new"
    mkdir -p "$tree.new"
    if ! debootstrap --variant=minbase --include="$packages" "$suite" "$tree.new" "$mirror" \
        >"$tree.log" 2>&1; then
        tail -5 "$tree.log"
        skip "debootstrap failed, see $tree.log"
    fi
    rm -rf "$tree.new"/var/cache/apt/archives/*.deb "$tree.new"/var/lib/apt/lists/*
    echo "$packages" >"$tree.new/.wan-packages"
    rm -rf --one-file-system "$tree"
    mv "$tree.new" "$tree"
}

# tree_ready [1]: makes it where it is not there or not up to date (1: in any case); holds its lock.
tree_ready() {
    mkdir -p "$(dirname "$tree")" || die "cannot make $(dirname "$tree")"
    exec 9>"$tree.lock"
    flock 9
    if [[ ${1:-0} == 1 || $(cat "$tree/.wan-packages" 2>/dev/null) != "$packages" ]]; then
        tree_make
    fi
}

# The sources as a tar file: as they are distributed, where $WAN_BUILD is a build that can tell; what they lack is found then.
sources_pack() {
    local unpacked packed code
    if [[ -f ${WAN_BUILD:-}/config.status ]]; then
        unpacked=$(mktemp -d) || return
        make -C "$WAN_BUILD" dist-gzip >"$unpacked.log" 2>&1 && packed=$(ls -t "$WAN_BUILD"/wan-ompi-*.tar.gz | head -1) &&
            tar -C "$unpacked" --strip-components=1 -xzf "$packed" && rm "$packed" && tar -C "$unpacked" -cf - .
        code=$?
        [[ $code == 0 ]] || tail -5 "$unpacked.log" >&2
        rm -rf "$unpacked" "$unpacked.log"
        return $code
    fi
    if git -C "$src" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git -C "$src" ls-files -z --cached --others --exclude-standard |
            (cd "$src" && while IFS= read -r -d '' f; do [[ -e $f ]] && printf '%s\0' "$f"; done) |
            tar -C "$src" --null -T - -cf -
    else
        tar -C "$src" -cf - .
    fi
}

# tree_run DIRECTORY: runs DIRECTORY/run in the tree, where DIRECTORY is /wan/in.  In a mount
# namespace of its own: whatever happens, no mount outlives this.  What its compilers made is kept beside the tree
# where ccache is in it.
tree_run() {
    mkdir -p "$tree.ccache" || die "cannot make $tree.ccache"
    # shellcheck disable=SC2016
    unshare --mount --propagation private bash -c '
        tree=$1 inner=$2
        mkdir -p "$tree/wan" &&
        mount -t tmpfs -o mode=755 wan "$tree/wan" && mkdir "$tree/wan/in" &&
        mount --bind "$inner" "$tree/wan/in" && mkdir "$tree/wan/ccache" && mount --bind "$tree.ccache" "$tree/wan/ccache" &&
        mount -t proc proc "$tree/proc" && mount --rbind /sys "$tree/sys" &&
        mount --rbind /dev "$tree/dev" && mount -t tmpfs -o mode=1777 shm "$tree/dev/shm" &&
        mount -t tmpfs -o mode=1777 tmp "$tree/tmp" || exit 77
        exec chroot "$tree" /usr/bin/env -i PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin CCACHE_DIR=/wan/ccache CCACHE_MAXSIZE=1G \
            WAN_TEST_LONG="$3" /wan/in/run
    ' "$name" "$tree" "$1" "${WAN_TEST_LONG:-}"
}
