#!/usr/bin/env bash
# binding.sh js|browser|r: makes a binding ready to be used from the checkout.
#
# js: the packages that it needs, in bindings/js/node_modules
# browser: these, and those that drive browsers, in tests/browser/node_modules
# r:  the package, polygrad_*.tar.gz in build/r, installed in build/r/library; the library must
#     have been built
set -euo pipefail
root=$(dirname "$(dirname "$(realpath "$0")")")

# Installs the dependencies in a folder's package.json, unless they are installed.
packages() {
  cd "$root/$1"
  installed=node_modules/.package-lock.json
  [ "$installed" -nt package-lock.json ] && return
  npm ci --no-audit --no-fund --loglevel=error --fetch-retries=2 --fetch-retry-maxtimeout=5000 \
    --fetch-retry-mintimeout=1000
  touch "$installed"
}

case "${1:-}" in
  js | browser)
    "$root/scripts/require.sh" node npm
    packages bindings/js
    [ "$1" = js ] || packages tests/browser
    ;;
  r)
    "$root/scripts/require.sh" R
    mkdir -p "$root/build/r/library"
    cd "$root/build/r"
    # Suites that run concurrently may both build the package.
    exec 9>lock
    flock 9
    installed=library/polygrad/Meta/package.rds
    [ -e "$installed" ] && compgen -G 'polygrad_*.tar.gz' >/dev/null &&
      [ -z "$(find "$root"/{bindings/r,include,build/libpolygrad.so} -newer "$installed" -print -quit)" ] && exit
    rm -f polygrad_*.tar.gz
    env -u POLYGRAD_LIB R CMD build "$root/bindings/r" # its vignette uses the library it carries
    R CMD INSTALL --library=library polygrad_*.tar.gz
    ;;
  *)
    echo "usage: binding.sh js|browser|r" >&2
    exit 2
    ;;
esac
