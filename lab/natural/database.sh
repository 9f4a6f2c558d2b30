#!/usr/bin/env bash
# PostgreSQL under pgbench, whose rate changes: busy and quiet times as a shop has them.
#
#   database.sh prepare DIRECTORY          as root; the server runs as postgres, or $LAB_USER
#   database.sh run DIRECTORY SECONDS
set -euo pipefail
DIRECTORY=$2
ACCOUNT=${LAB_USER:-postgres}
# The newest that is installed.
PROGRAMS=$(for directory in /usr/lib/postgresql/*/bin "$(pg_config --bindir 2>/dev/null || true)"; do
    [[ ! -x $directory/initdb ]] || echo "$directory"
done | sort -V | tail -n 1)
[[ -n $PROGRAMS ]] || { echo "PostgreSQL is not installed" >&2; exit 2; }

as_server() { (cd "$DIRECTORY" && setpriv --reuid "$ACCOUNT" --regid "$ACCOUNT" --clear-groups env HOME="$DIRECTORY" "$@"); }

# No network; the socket lies beside the data. The server's own memory is small, so that pages have to be read again, and
# checkpoints come often enough to be seen.
start() {
    as_server "$PROGRAMS/pg_ctl" -D data -l server.log -w -o "-c listen_addresses= -c unix_socket_directories='$DIRECTORY' \
        -c shared_buffers=16MB -c checkpoint_timeout=30s -c max_wal_size=256MB -c autovacuum_naptime=20s" start
    trap stop EXIT
    trap 'exit 143' TERM INT
}

stop() {
    trap - EXIT
    as_server "$PROGRAMS/pg_ctl" -D data -m fast -w stop
}

bench() { as_server "$PROGRAMS/pgbench" -h "$DIRECTORY" -n "$@" bench; }

case $1 in
prepare)
    chown "$ACCOUNT" "$DIRECTORY"
    as_server "$PROGRAMS/initdb" -D data -A trust --no-sync >/dev/null
    start
    as_server "$PROGRAMS/createdb" -h "$DIRECTORY" bench
    bench -i -s 20 -q
    # In a session of its own, so that the server knows that it has been done and doesn't begin the run with it.
    as_server "$PROGRAMS/vacuumdb" -h "$DIRECTORY" -z -q bench
    stop
    ;;
run)
    start
    end=$((SECONDS + $3))
    rates=(20 40 75 30 10 60 25 50)
    for ((step = 0; SECONDS < end; step++)); do
        left=$((end - SECONDS))
        # One in four looks things up, the others also change them.
        bench -c 4 -j 1 -R "${rates[step % 8]}" -T $((left < 12 ? left : 12)) -b select-only@1 -b tpcb-like@3
        ((SECONDS >= end)) || sleep $((step % 3))
    done
    stop
    ;;
esac
