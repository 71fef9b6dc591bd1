#!/usr/bin/env bash
# require.sh TOOL...: says what is missing on this machine, and installs it where that is
# possible without asking (as root on Debian and its children).
set -euo pipefail

package_of() {
  case "$1" in
    gcc) echo "gcc libc6-dev" ;;
    clang) echo "clang" ;;
    python3) echo "python3 python3-venv python3-pip" ;;
    *) echo "" ;;
  esac
}

works() {
  command -v "$1" >/dev/null 2>&1 || return 1
  case "$1" in
    python*) "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' >/dev/null 2>&1 ;;
  esac
}

for tool in "$@"; do
  works "$tool" && continue
  packages=$(package_of "$tool")
  if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
    # shellcheck disable=SC2086  # a list of packages
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages
  fi
  works "$tool" && continue
  case "$tool" in
    python*) echo "polygrad needs Python 3.9 or later with venv; '$tool' is not one" >&2 ;;
    *) echo "polygrad needs '$tool', which is not installed" >&2 ;;
  esac
  exit 1
done
