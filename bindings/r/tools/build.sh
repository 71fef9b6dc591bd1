#!/usr/bin/env bash
# build.sh LIBRARY: R CMD build with a copy of the library in the package, which then needs nothing
# else where it is installed but R and a C compiler. The package is written to the current folder.
set -euo pipefail
library=$(realpath "${1:?usage: build.sh LIBRARY}")
package=$(dirname "$(dirname "$(realpath "$0")")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -rL "$package" "$folder/polygrad"
mkdir -p "$folder/polygrad/inst/lib"
cp "$library" "$folder/polygrad/inst/lib/libpolygrad.so"
echo "inst/lib/libpolygrad.so" >"$folder/polygrad/BinaryFiles"
R CMD build "$folder/polygrad"
