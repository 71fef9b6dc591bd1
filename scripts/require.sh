#!/usr/bin/env bash
# require.sh TOOL...: prints which tools are missing on this machine, and installs them where that
# is possible without asking (as root on Debian and its derivatives).
#
# A tool is a command, or R: Rscript with the packages that the tests of the R binding need.
set -euo pipefail

R_PACKAGES="testthat jsonlite knitr markdown"

package_of() {
  case "$1" in
    gcc) echo "gcc libc6-dev" ;;
    g++) echo "g++" ;;
    clang) echo "clang" ;;
    cmake) echo "cmake make" ;;
    pkg-config) echo "pkg-config" ;;
    nm | readelf) echo "binutils" ;;
    valgrind) echo "valgrind" ;;
    python3) echo "python3 python3-venv python3-pip" ;;
    node) echo "nodejs" ;;
    npm) echo "npm" ;;
    chromium) echo "chromium" ;;
    firefox) echo "firefox-esr" ;;
    lavapipe) echo "mesa-vulkan-drivers" ;;
    R)
      echo "r-base-core make gcc libc6-dev qpdf" # R CMD check wants qpdf
      for package in $R_PACKAGES; do echo "r-cran-$package"; done
      ;;
  esac
}

works() {
  case "$1" in
    python*)
      "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' >/dev/null 2>&1
      ;;
    node) node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18 ? 1 : 0)' >/dev/null 2>&1 ;;
    R)
      # shellcheck disable=SC2086  # a list of packages
      Rscript -e 'for (p in commandArgs(TRUE)) loadNamespace(p)' $R_PACKAGES >/dev/null 2>&1 &&
        command -v qpdf >/dev/null 2>&1
      ;;
    lavapipe) compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' >/dev/null ;;
    firefox) command -v firefox-esr >/dev/null 2>&1 || command -v firefox >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

name_of() {
  case "$1" in
    python*) echo "Python 3.9 or later with venv; '$1' is not one" ;;
    node) echo "Node.js 18 or later" ;;
    R) echo "R with the packages $R_PACKAGES, and qpdf" ;;
    lavapipe) echo "lavapipe, Mesa's Vulkan for processors" ;;
    *) echo "'$1'" ;;
  esac
}

for tool in "$@"; do
  works "$tool" && continue
  packages=$(package_of "$tool" | xargs)
  if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing $packages" >&2
    log=$(mktemp)
    # shellcheck disable=SC2086  # a list of packages
    { apt-get update -qq &&
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages; } \
      >"$log" 2>&1 || tail -n 3 "$log" >&2
    rm -f "$log"
  fi
  works "$tool" && continue
  echo "this needs $(name_of "$tool"), which is not installed${packages:+ (on Debian: apt-get install --no-install-recommends $packages)}" >&2
  exit 1
done
