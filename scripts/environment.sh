#!/usr/bin/env bash
# Make .venv with this package (editable) and one of its extras: environment.sh EXTRA
# Installs system packages only as root or with passwordless sudo on a machine with apt;
# elsewhere it prints the line to run and goes on where it can.
set -euo pipefail
cd "$(dirname "$0")/.."

extra=$1
venv=.venv

say() { printf '%s\n' "$*" >&2; }

as_root() {
    if [[ $(id -u) == 0 ]]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

may_install() {
    command -v apt-get >/dev/null && { [[ $(id -u) == 0 ]] || sudo -n true 2>/dev/null; }
}

apt_install() {
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

find_python() {
    local name
    for name in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        if [[ -n $name ]] && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
        then
            printf '%s\n' "$name"
            return
        fi
    done
    say "Python 3.11 or newer is needed; install it, or name it with PYTHON=/path/to/python3."
    exit 1
}

make_venv() {
    local python=$1 package
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        if ! may_install; then
            say "This Python has no venv; run: sudo apt-get install $package"
            exit 1
        fi
        apt_install "$package"
    fi
    "$python" -m venv --clear "$venv"
}

# What Qt opens while running, which pip cannot install: library and Debian package.
qt_libraries() {
    cat <<'LIST'
libGL.so.1 libgl1
libEGL.so.1 libegl1
libdbus-1.so.3 libdbus-1-3
libfontconfig.so.1 libfontconfig1
libglib-2.0.so.0 libglib2.0-0
libxkbcommon-x11.so.0 libxkbcommon-x11-0
libxcb-cursor.so.0 libxcb-cursor0
libxcb-icccm.so.4 libxcb-icccm4
libxcb-image.so.0 libxcb-image0
libxcb-keysyms.so.1 libxcb-keysyms1
libxcb-render-util.so.0 libxcb-render-util0
libxcb-shape.so.0 libxcb-shape0
LIST
}

missing_packages() {
    local known library package
    known=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p)
    while read -r library package; do
        [[ $known == *"$library "* ]] || printf '%s ' "$package"
    done < <(qt_libraries)
    [[ $extra != dev ]] || command -v Xvfb >/dev/null || printf 'xvfb '
    [[ $extra != dev ]] || command -v xauth >/dev/null || printf 'xauth '
}

install_qt_libraries() {
    local missing
    [[ $(uname -s) == Linux ]] || return 0
    missing=$(missing_packages)
    [[ -n $missing ]] || return 0
    if may_install; then
        # shellcheck disable=SC2086  # one word per package
        apt_install $missing
    else
        say "Going on without a window; for one, run: sudo apt-get install $missing"
    fi
}

if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    make_venv "$(find_python)"
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[$extra]"
install_qt_libraries
