#!/usr/bin/env bash
# binding.sh js|r: makes a binding ready to be used from the checkout.
#
# js: the packages that it needs, in bindings/js/node_modules
# r:  the package, polygrad_*.tar.gz in build/r, installed in build/r/library; the library must
#     have been built
set -euo pipefail
root=$(dirname "$(dirname "$(realpath "$0")")")

case "${1:-}" in
  js)
    "$root/scripts/require.sh" node npm
    cd "$root/bindings/js"
    installed=node_modules/.package-lock.json
    [ "$installed" -nt package-lock.json ] && exit
    npm ci --no-audit --no-fund --loglevel=error --fetch-retries=2 --fetch-retry-maxtimeout=5000 \
      --fetch-retry-mintimeout=1000
    touch "$installed"
    ;;
  r)
    "$root/scripts/require.sh" R
    mkdir -p "$root/build/r/library"
    cd "$root/build/r"
    rm -f polygrad_*.tar.gz
    env -u POLYGRAD_LIB R CMD build "$root/bindings/r" # its vignette uses the library it carries
    R CMD INSTALL --library=library polygrad_*.tar.gz
    ;;
  *)
    echo "usage: binding.sh js|r" >&2
    exit 2
    ;;
esac
