#!/usr/bin/env bash
# build.sh LIBRARY: R CMD build with a copy of the library in the package, which then needs nothing
# else where it is installed but R and a C compiler. The package is written to the current folder.
set -euo pipefail
library=$(realpath "${1:?usage: build.sh LIBRARY}")
package=$(dirname "$(dirname "$(realpath "$0")")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -rL "$package" "$folder/polygrad"
rm -rf "$folder/polygrad/src/"*.o "$folder/polygrad/src/"*.so
gzip -9cn "$library" >"$folder/polygrad/tools/libpolygrad.so.gz"
# The vignette is made with the library that the package carries.
env -u POLYGRAD_LIB R CMD build "$folder/polygrad"
