#!/bin/sh
# Chromium for the tests that look at pages, from Debian's packages. Where that can't be, it says why, and those tests are
# skipped with the same reason.
set -eu
command -v chromium >/dev/null && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "No Chromium, and it takes root and apt-get to install it: the tests of pages will be skipped."
    exit 0
fi
apt-get update -qq
apt-get install --yes -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
