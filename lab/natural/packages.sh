#!/usr/bin/env bash
# Packages that are unpacked and put into place one after the other, with a sync after each, as an update of a system does.
# What is in them is this machine's /usr/share.
#
#   packages.sh prepare DIRECTORY
#   packages.sh run DIRECTORY SECONDS
set -euo pipefail
cd "$2"

# Packages of some hundred files each, compressed, of all kinds of files.
pack() {
    mkdir -p packages installed
    (cd /usr/share && find . -xdev -type f -size -4M -readable | LC_ALL=C sort | sed -n '1,24000p') >list
    split -l 400 -d -a 3 list part.
    local part
    for part in part.*; do
        tar -C /usr/share -czf "packages/${part#part.}.tar.gz" -T "$part"
    done
    rm list part.*
}

case $1 in
prepare)
    pack
    sync -f .
    ;;
run)
    end=$((SECONDS + $3))
    RANDOM=2
    archives=(packages/*.tar.gz)
    for ((k = 0; SECONDS < end; k++)); do
        archive=${archives[RANDOM % ${#archives[@]}]}
        name=${archive##*/}
        # As a package manager does it: beside the old one, on disk, then in its place.
        mkdir -p "installed/$name.new"
        tar -C "installed/$name.new" -xzf "$archive"
        sync -f .
        [[ ! -e installed/$name ]] || mv "installed/$name" "installed/$name.old"
        mv "installed/$name.new" "installed/$name"
        rm -rf "installed/$name.old"
        echo "$name installed" >>log
        sync log
        sleep "$((RANDOM % 4)).$((RANDOM % 10))"
    done
    ;;
esac
