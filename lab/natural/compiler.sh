#!/usr/bin/env bash
# A tree of C, made by rule, that is compiled, changed and compiled again, as in a day of work. The headers of this
# machine are copied beside it, and the compiler's temporary files lie there, too.
#
#   compiler.sh prepare DIRECTORY
#   compiler.sh run DIRECTORY SECONDS
set -euo pipefail
cd "$2"

# Each file has some functions, and headers of the system and of the tree.
sources() {
    mkdir -p tree/include tree/source build tmp
    awk 'BEGIN {
        srand(1)
        for (h = 0; h < 60; h++) {
            file = sprintf("tree/include/part%03d.h", h)
            print "#pragma once" > file
            for (k = 0; k < 40; k++) printf "struct s%d_%d { int a; double b[%d]; };\nint f%d_%d(int, struct s%d_%d *);\n", h, k, k + 1, h, k, h, k > file
            close(file)
        }
        for (c = 0; c < 1500; c++) {
            file = sprintf("tree/source/unit%04d.c", c)
            print "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n#include <pthread.h>" > file
            for (k = 0; k < 8; k++) printf "#include \"part%03d.h\"\n", int(rand() * 60) > file
            n = 2 + int(rand() * 25)
            for (k = 0; k < n; k++) {
                printf "/* %d */\ndouble unit%d_%d(double x, int n) {\n    double sum = %d;\n", rand() * 1e9, c, k, k > file
                for (l = 0; l < 8; l++) printf "    for (int i = 0; i < n; i += %d) sum += sin(x * i) * %d;\n", l + 1, l > file
                print "    if (sum > 1e9) printf(\"%f\\n\", sum);\n    return sum;\n}" > file
            }
            close(file)
        }
    }'
    cat >Makefile <<'MAKE'
objects := $(patsubst tree/source/%.c,build/%.o,$(wildcard tree/source/*.c))
build/all.a: $(objects)
	rm -f $@ && ar rc $@ $^
build/%.o: tree/source/%.c
	gcc -g -O0 -MD -nostdinc -isystem system/gcc -isystem system/include -isystem system/include/local -Itree/include -c $< -o $@
-include $(wildcard build/*.d)
MAKE
}

system_headers() {
    local arch
    arch=$(gcc -print-multiarch)
    mkdir -p system
    cp -rL "$(gcc -print-file-name=include)" system/gcc
    mkdir -p system/include
    cp -rL /usr/include/*.h /usr/include/linux /usr/include/asm-generic system/include/
    cp -rL "/usr/include/$arch" system/include/local
}

case $1 in
prepare)
    sources
    system_headers
    sync -f .
    ;;
run)
    export TMPDIR=$PWD/tmp
    end=$((SECONDS + $3))
    RANDOM=1
    # What editors, indexers and a cautious build server do: what has been built is soon on disk.
    while sleep 2; do sync -f .; done &
    trap 'kill %1' EXIT
    trap 'exit 143' TERM INT
    # The whole tree first, then what depends on some files that were edited; now and then everything.
    for ((round = 0; SECONDS < end; round++)); do
        ((round % 6)) || rm -rf build/*
        left=$((end - SECONDS))
        timeout "$((left > 0 ? left : 1))" make -j2 -s || (($? == 124))
        sync -f .
        for ((k = 0; k < 5; k++)); do
            file=$(printf 'tree/source/unit%04d.c' $((RANDOM % 1500)))
            echo "/* edited in round $round */" >>"$file"
        done
        ((round % 3)) || touch "$(printf 'tree/include/part%03d.h' $((RANDOM % 60)))"
        sleep $((RANDOM % 3))
    done
    ;;
esac
