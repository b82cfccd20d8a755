#!/bin/sh
# What tests use beside the lock, from Debian's packages: Chromium looks at pages, Redis is one of the two key-value
# stores. Where they can't be installed, it says why, and those tests are skipped with the same reason.
set -eu
command -v chromium >/dev/null && command -v redis-server >/dev/null && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "No Chromium or no Redis, and it takes root and apt-get to install them: tests that need one will be skipped."
    exit 0
fi
apt-get update -qq
apt-get install --yes -qq --no-install-recommends chromium fonts-dejavu-core redis-server >/dev/null
