#!/usr/bin/env bash
# wasm.sh OUT [PACKAGE]: builds the library as a module of WebAssembly into the file OUT.
# wasm.sh --divided FOLDER: builds it into FOLDER as polygrad.wasm, and polygrad-deferred.wasm and polygrad-models.wasm, which pages load
# later.
#
# A second link step makes it smaller and lets it import its memory (see wasmlink). It also imports
# what Go needs of WASI preview 1, and the functions of "polygrad" that compile and run kernels.
# Memory for tensors is allocated by an internal function of Go's runtime; -checklinkname=0 makes
# the linker permit that.
set -euo pipefail
divided=
if [[ "${1:-}" == --divided ]]; then divided=1; shift; fi
out=$(realpath -m "${1:?usage: wasm.sh OUT [PACKAGE], or wasm.sh --divided FOLDER}")
package=${2:-./capi}
root=$(dirname "$(dirname "$(realpath "$0")")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$root"
link() { "${GO:-go}" run ./scripts/wasmlink "$@"; }
GOOS=wasip1 GOARCH=wasm "${GO:-go}" build -trimpath -ldflags="-s -w -buildid= -checklinkname=0" \
  -buildmode=c-shared -o "$folder/linked.wasm" "$package"
if [[ -z "$divided" ]]; then
  mkdir -p "$(dirname "$out")"
  link "$folder/linked.wasm" "$out"
else
  # The first part gets the functions that training calls. The profile is recorded on one thread
  # without fused multiply-adds in kernels, and on two threads with them.
  mkdir -p "$out"
  link -profile "$folder/linked.wasm" "$folder/profiled.wasm"
  for how in "1 --no-experimental-wasm-relaxed-simd" "2 --experimental-wasm-relaxed-simd"; do
    # shellcheck disable=SC2086 # two arguments
    node bindings/js/scripts/profile.mjs "$folder/profiled.wasm" "$folder/profile" $how >"$folder/tests" 2>&1 || true
    # Tests of memory may fail, because the collector has other settings here; but if the library stops, the profile is incomplete.
    if grep -m1 'the library has stopped' "$folder/tests" >&2; then exit 1; fi
  done
  [[ -s "$folder/profile" ]] || { cat "$folder/tests"; exit 1; }
  link -divide "$folder/profile" "$folder/linked.wasm" "$out"/polygrad{,-deferred,-models}.wasm
  for part in deferred models; do
    # Chrome does not compile larger modules synchronously on a page's main thread.
    size=$(stat -c %s "$out/polygrad-$part.wasm")
    if ((size > 8 << 20)); then echo "wasm.sh: polygrad-$part.wasm has $size bytes, expected at most 8 MiB" >&2; exit 1; fi
  done
fi
