#!/bin/sh
# Install a package of Debian that tests need, where we may; else say how.
set -eu
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo "Installing $1"
  apt-get install -y -q --no-install-recommends "$1" || { apt-get update -q && apt-get install -y -q --no-install-recommends "$1"; }
else
  echo "$1 is not installed. As root on Debian: apt-get install $1"
  exit 1
fi
