#!/usr/bin/env bash
# library.sh OUT [SONAME]: builds the shared library, or the static one if its name ends in .a, into the file OUT.
#
# Frontends load the library by its path, so the file needs no SONAME and works in any folder; the
# library that programs are linked with (make install) gets a SONAME.
set -euo pipefail
out=$(realpath -m "${1:?usage: library.sh OUT [SONAME]}")
root=$(dirname "$(dirname "$(realpath "$0")")")
# The map is copied to a temporary folder: a path with a blank or a comma cannot be passed to -Wl.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$root/capi/polygrad.map" "$folder"
linker="-Wl,-z,defs -Wl,--version-script=$folder/polygrad.map${2:+ -Wl,-soname,$2}"
mkdir -p "$(dirname "$out")"
cd "$root"
if [[ $out == *.a ]]; then
  CGO_ENABLED=1 "${GO:-go}" build -trimpath -ldflags="-s -w -buildid=" -buildmode=c-archive -o "$out" ./capi
  rm -f "${out%.*}.h"
  exit
fi
CGO_ENABLED=1 "${GO:-go}" build -trimpath -ldflags="-s -w -buildid= -extldflags '$linker'" \
  -buildmode=c-shared -o "$out" ./capi
rm -f "${out%.*}.h" # cgo's generated header; users include polygrad.h instead
