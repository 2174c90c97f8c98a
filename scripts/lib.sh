# Shared by quickstart, test and check. Sourcing this file changes into the repository and defines functions.
# shellcheck shell=bash

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# For building Hydrant: Debian's packages (Ubuntu has the same names).
BUILD_PACKAGES=(libfuse3-dev fuse3 pkg-config libsqlite3-dev libzip-dev libexpat1-dev libncurses-dev libpng-dev
    libturbojpeg0-dev libglib2.0-dev liburing-dev libssl-dev)
# More packages for the tests, by topic (scripts/test): those without a mount; those at mounts, with all programs that
# people use there; those with servers.
UNIT_PACKAGES=(attr git python3 sqlite3 tar zip unzip make libcap2-bin e2fsprogs shared-mime-info)
MOUNT_PACKAGES=(rsync perl vim nano emacs-nox libglib2.0-bin gcc libc6-dev stress-ng
    libreoffice-writer-nogui python3-uno xfsprogs btrfs-progs
    libsecret-1-0 gnome-keyring dbus bubblewrap tmux poppler-utils
    desktop-file-utils xdg-utils python3-gi chafa cups-daemon cups-client)
SERVER_PACKAGES=(apache2-bin openssl dovecot-imapd openssh-server python3-venv)
TEST_PACKAGES=("${UNIT_PACKAGES[@]}" "${MOUNT_PACKAGES[@]}" "${SERVER_PACKAGES[@]}")

# More packages for the tests with desktop services (scripts/test desktop).
DESKTOP_PACKAGES=(tumbler tumbler-plugins-extra ffmpegthumbnailer tracker tracker-extract tracker-miner-fs baloo-kf5
    evince librsvg2-common libgdk-pixbuf2.0-bin nautilus python3-nautilus nemo nemo-python thunar thunarx-python
    gir1.2-thunarx-3.0 dolphin kio-extras xvfb xauth xclip xdotool dunst python3-dbusmock)
# More packages for the tests of the page in a browser (scripts/test web); Playwright is from PyPI.
WEB_PACKAGES=(chromium fonts-dejavu-core)
# More packages for the tests on Ceph's gateway (scripts/test ceph): a cluster of one node, without systemd.
CEPH_PACKAGES=(ceph-mon ceph-osd radosgw ceph-common)

say() { printf '%s\n' "$*" >&2; }

# die MESSAGE [NEXT LINES…]
die() {
    say "${0##*/}: $1"
    shift
    for line in "$@"; do say "  $line"; done
    exit 1
}

is_installed() {
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]] && return
    # A program from another source will do; a library's headers and fusermount3's rights may not.
    case $1 in
        pkg-config | attr | rsync | git | python3 | perl | vim | nano | emacs-nox | sqlite3 | libglib2.0-bin) is_usable "$1" ;;
        tar | zip | unzip | make | gcc | stress-ng | libreoffice-writer-nogui | python3-uno | openssl) is_usable "$1" ;;
        *) return 1 ;;
    esac
}

# For systems without dpkg: checks for the needed parts of the packages.
is_usable() {
    case $1 in
        libfuse3-dev) pkg-config --exists fuse3 2>/dev/null ;;
        libsqlite3-dev) pkg-config --exists sqlite3 2>/dev/null || [[ -e /usr/include/sqlite3.h ]] ;;
        libexpat1-dev) pkg-config --exists expat 2>/dev/null || [[ -e /usr/include/expat.h ]] ;;
        libpng-dev) pkg-config --exists libpng 2>/dev/null ;;
        libturbojpeg0-dev) pkg-config --exists libturbojpeg 2>/dev/null ;;
        libglib2.0-dev) pkg-config --exists gio-unix-2.0 2>/dev/null ;;
        liburing-dev) pkg-config --exists liburing 2>/dev/null ;;
        libssl-dev) pkg-config --atleast-version 3 libcrypto 2>/dev/null ;;
        libncurses-dev) pkg-config --exists ncursesw 2>/dev/null ;;
        libzip-dev) pkg-config --exists libzip 2>/dev/null ;;
        fuse3) command -v fusermount3 >/dev/null ;;
        attr) command -v getfattr >/dev/null ;;
        emacs-nox) command -v emacs >/dev/null ;;
        libglib2.0-bin) command -v gio >/dev/null ;;
        libc6-dev) [[ -e /usr/include/stdio.h ]] ;;
        libreoffice-writer-nogui) command -v soffice >/dev/null ;;
        python3-uno) [[ -e /usr/lib/python3/dist-packages/uno.py ]] ;;
        # Often missing from the PATH of ordinary users.
        e2fsprogs) PATH=$PATH:/usr/sbin:/sbin command -v mkfs.ext4 >/dev/null ;;
        xfsprogs) PATH=$PATH:/usr/sbin:/sbin command -v mkfs.xfs >/dev/null ;;
        btrfs-progs) PATH=$PATH:/usr/sbin:/sbin command -v mkfs.btrfs >/dev/null ;;
        # (The other packages of Ceph have their programs' names.)
        ceph-common) command -v ceph >/dev/null ;;
        # The place where the tests look for it.
        apache2-bin) [[ -x /usr/sbin/apache2 && -e /usr/lib/apache2/modules/mod_dav_fs.so ]] ;;
        libsecret-1-0) ldconfig -p | grep -q libsecret-1.so.0 ;;
        gnome-keyring) command -v gnome-keyring-daemon >/dev/null ;;
        bubblewrap) command -v bwrap >/dev/null ;;
        shared-mime-info) [[ -e /usr/share/mime/globs2 ]] ;;
        desktop-file-utils) command -v update-desktop-database >/dev/null ;;
        xdg-utils) command -v xdg-mime >/dev/null ;;
        python3-gi) /usr/bin/python3 -c 'import gi' 2>/dev/null ;;
        cups-daemon) [[ -x /usr/sbin/cupsd ]] ;;
        cups-client) command -v lp >/dev/null ;;
        poppler-utils) command -v pdftotext >/dev/null ;;
        dbus) command -v dbus-run-session >/dev/null ;;
        python3-venv) /usr/bin/python3 -c 'import ensurepip' 2>/dev/null ;;
        # Likewise: pyenv's is not available to other users.
        python3) [[ -x /usr/bin/python3 ]] ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

# need_packages PACKAGE…: installs missing packages if that needs no question, else says what to do.
need_packages() {
    local package missing=() test=is_usable
    command -v dpkg-query >/dev/null && test=is_installed
    for package in "$@"; do "$test" "$package" || missing+=("$package"); done
    ((${#missing[@]})) || return 0

    if ! command -v apt-get >/dev/null; then
        die "missing, by their Debian names: ${missing[*]}" \
            "This system has no apt-get; install these packages under its names, then run this again."
    fi
    local as_root=()
    if ((EUID != 0)); then
        if ! sudo -n true 2>/dev/null; then
            die "missing packages: ${missing[*]}" \
                "Only root may install them. Run this, then run ${0##*/} again:" \
                "sudo apt-get install -y --no-install-recommends ${missing[*]}"
        fi
        as_root=(sudo -n)
    fi
    say "Installing ${missing[*]}"
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get install -y -q --no-install-recommends "${missing[@]}")
    # The package lists may be old or missing (containers): then try again with new ones.
    if ! "${install[@]}" >/dev/null 2>&1; then
        "${as_root[@]}" apt-get update -q >&2 || die "apt-get update failed; see the lines above"
        "${install[@]}" >&2 || die "apt-get could not install ${missing[*]}; see the lines above"
    fi
}

# Swift is not installed automatically: it is large, and the user must choose the way (swiftly, a tarball).
need_swift() {
    local folder version
    if ! command -v swift >/dev/null; then
        for folder in /opt/swift/usr/bin /usr/share/swift/usr/bin "${HOME:-}/.local/share/swiftly/bin"; do
            [[ -x $folder/swift ]] && PATH=$PATH:$folder && break
        done
    fi
    command -v swift >/dev/null ||
        die "Swift is not installed (6.2 or newer is needed)" \
            "Get it from https://www.swift.org/install/linux/ and add it to your PATH."
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
    if [[ ! $version =~ ^([0-9]+)\.([0-9]+)$ ]] ||
        ((BASH_REMATCH[1] < 6 || (BASH_REMATCH[1] == 6 && BASH_REMATCH[2] < 2))); then
        die "$(command -v swift) is Swift ${version:-of an unknown version}; 6.2 or newer is needed" \
            "Get it from https://www.swift.org/install/linux/"
    fi
}

# Mounting needs the kernel's FUSE.
need_fuse() {
    if [[ ! -c /dev/fuse ]] && ((EUID == 0)); then modprobe fuse 2>/dev/null || true; fi
    [[ -c /dev/fuse ]] ||
        die "/dev/fuse is missing: this kernel, or this container, has no FUSE" \
            "On a machine of your own, as root: modprobe fuse" \
            "For a container: start it with --device /dev/fuse --cap-add SYS_ADMIN"
    [[ -r /dev/fuse && -w /dev/fuse ]] ||
        die "you may not open /dev/fuse" "On an ordinary Debian everybody may. As root: chmod 666 /dev/fuse"
    # systemd mounts it; without systemd, nobody does.
    if ((EUID == 0)) && [[ -d /sys/fs/fuse/connections ]] && [[ -z $(mounted_type /sys/fs/fuse/connections) ]]; then
        mount -t fusectl fusectl /sys/fs/fuse/connections || true
    fi
}

# build ARGUMENT…: swift build, with the words of HYDRANT_BUILD_FLAGS. (Every stage must have the same: others build all
# modules again.)
build() {
    local flags
    read -r -a flags <<<"${HYDRANT_BUILD_FLAGS-}"
    swift build "${flags[@]}" "$@"
}

# The type of the file system mounted at exactly this (absolute) path, or nothing. Reads only the mount table: a dead
# mount cannot block it.
mounted_type() { findmnt -n -r -o FSTYPE --mountpoint "$1" 2>/dev/null | tail -n 1; }
