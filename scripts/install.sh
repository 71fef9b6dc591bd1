#!/usr/bin/env bash
# install.sh install LIBRARY ARCHIVE | uninstall: what `make install` and `make uninstall` do.
#
# From the environment: PREFIX, LIBDIR and INCLUDEDIR (relative to PREFIX unless absolute) and
# DESTDIR, a staging folder that is prepended to all of them while a package is built. Installed
# files refer to each other by relative paths only, so the folder PREFIX may be moved.
set -euo pipefail
root=$(dirname "$(dirname "$(realpath "$0")")")
header="$root/include/polygrad.h"
version=$(sed -n 's/^#define POLY_VERSION "\(.*\)"/\1/p' "$header")
soname="libpolygrad.so.${version%%.*}"

prefix=$(realpath -ms "${PREFIX:-/usr/local}")
below_prefix() { case "$1" in /*) realpath -ms "$1" ;; *) realpath -ms "$prefix/$1" ;; esac; }
libdir=$(below_prefix "${LIBDIR:-lib}")
includedir=$(below_prefix "${INCLUDEDIR:-include}")
pkgconfig="$libdir/pkgconfig"
cmake="$libdir/cmake/polygrad"
doc="$prefix/share/doc/polygrad"
dest="${DESTDIR:-}"

from() { realpath -ms --relative-to="$1" "$2"; }

# The dynamic linker searches the system's folders only; programs linked with a library elsewhere
# need a run path to it.
rpath=
case "$prefix" in
  /usr | /usr/local) ;;
  *) rpath="-Wl,-rpath,\${libdir} " ;;
esac

pc_file() {
  cat <<EOF
prefix=\${pcfiledir}/$(from "$pkgconfig" "$prefix")
libdir=\${pcfiledir}/$(from "$pkgconfig" "$libdir")
includedir=\${pcfiledir}/$(from "$pkgconfig" "$includedir")

Name: polygrad
Description: Tensors with gradients and a compiler of their own
Version: $version
Libs: -L\${libdir} $rpath-lpolygrad
Cflags: -I\${includedir}
EOF
}

cmake_config() {
  cat <<EOF
# find_package(polygrad CONFIG) defines the target polygrad::polygrad.
if(TARGET polygrad::polygrad)
  return()
endif()
get_filename_component(_polygrad_lib "\${CMAKE_CURRENT_LIST_DIR}/$(from "$cmake" "$libdir")" ABSOLUTE)
get_filename_component(_polygrad_include "\${CMAKE_CURRENT_LIST_DIR}/$(from "$cmake" "$includedir")" ABSOLUTE)
add_library(polygrad::polygrad SHARED IMPORTED)
set_target_properties(polygrad::polygrad PROPERTIES
  IMPORTED_LOCATION "\${_polygrad_lib}/libpolygrad.so.$version"
  IMPORTED_SONAME "$soname"
  INTERFACE_INCLUDE_DIRECTORIES "\${_polygrad_include}")
unset(_polygrad_lib)
unset(_polygrad_include)
EOF
}

cmake_version() {
  cat <<EOF
set(PACKAGE_VERSION "$version")
if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(PACKAGE_VERSION_UNSUITABLE TRUE)
elseif(PACKAGE_FIND_VERSION_MAJOR STREQUAL "${version%%.*}" AND NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
EOF
}

# Replaces a file atomically by rename: programs that are running keep the old file open.
put() { # MODE SOURCE TARGET
  install -d "$dest$(dirname "$3")"
  install -m "$1" "$2" "$dest$3.new"
  mv -f "$dest$3.new" "$dest$3"
}

# The dynamic linker's cache matters only for an installation as root into the running system.
refresh_linker() {
  if [ -z "$dest" ] && [ "$(id -u)" = 0 ] && command -v ldconfig >/dev/null 2>&1; then ldconfig; fi
}

case "${1:-}" in
  install)
    library=${2:?usage: install.sh install LIBRARY ARCHIVE}
    put 755 "$library" "$libdir/libpolygrad.so.$version"
    put 644 "${3:?usage: install.sh install LIBRARY ARCHIVE}" "$libdir/libpolygrad.a"
    ln -sfn "libpolygrad.so.$version" "$dest$libdir/$soname"
    ln -sfn "$soname" "$dest$libdir/libpolygrad.so"
    put 644 "$header" "$includedir/polygrad.h"
    put 644 <(pc_file) "$pkgconfig/polygrad.pc"
    put 644 <(cmake_config) "$cmake/polygrad-config.cmake"
    put 644 <(cmake_version) "$cmake/polygrad-config-version.cmake"
    put 644 "$root/LICENSE" "$doc/LICENSE"
    put 644 "$root/scripts/polygrad.supp" "$doc/polygrad.supp"
    refresh_linker
    echo "polygrad $version is in $dest$prefix"
    ;;
  uninstall)
    rm -f "$dest$libdir/libpolygrad.so" "$dest$libdir/$soname" "$dest$libdir/libpolygrad.so.$version" "$dest$libdir/libpolygrad.a"
    rm -f "$dest$includedir/polygrad.h" "$dest$pkgconfig/polygrad.pc"
    rm -rf "$dest$cmake" "$dest$doc"
    refresh_linker
    ;;
  *)
    echo "usage: install.sh install LIBRARY ARCHIVE | uninstall" >&2
    exit 2
    ;;
esac
