#!/usr/bin/env bash
# wasm.sh OUT [PACKAGE]: builds the library as a module of WebAssembly into the file OUT.
#
# A second link step makes it smaller and lets it import its memory (see wasmlink). It also imports
# what Go needs of WASI preview 1, and the functions of "polygrad" that compile and run kernels.
# Memory for tensors is taken where Go's runtime takes its own, by a function that the linker has to
# be told to permit.
set -euo pipefail
out=$(realpath -m "${1:?usage: wasm.sh OUT [PACKAGE]}")
package=${2:-./capi}
root=$(dirname "$(dirname "$(realpath "$0")")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$(dirname "$out")"
cd "$root"
GOOS=wasip1 GOARCH=wasm "${GO:-go}" build -trimpath -ldflags="-s -w -buildid= -checklinkname=0" \
  -buildmode=c-shared -o "$folder/module.wasm" "$package"
"${GO:-go}" run ./scripts/wasmlink "$folder/module.wasm" "$out"
