#!/bin/sh
# Builds run_export against the TensorFlow of a Python environment, and with the operations of its
# tensorflow-text; needs a C compiler and nothing else:
#
#   sh serving/c/build.sh [PYTHON] [PROGRAM]
#
# PYTHON is python3 by default, PROGRAM ./run_export. CC and CFLAGS are heeded. The program refers
# to that environment's libraries, so it runs where they are.
set -eu
python=${1:-python3}
program=${2:-./run_export}
here=$(cd "$(dirname "$0")" && pwd)
folder_of() {  # of a package, which is not imported
    "$python" -c 'import importlib.util as u, sys; print(u.find_spec(sys.argv[1]).submodule_search_locations[0])' "$1"
}
tensorflow=$(folder_of tensorflow)
libraries=
for library in "$(folder_of tensorflow_text)"/python/ops/_*.so; do
    libraries="$libraries:$library"
done
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -O2 -Wall -Wextra ${CFLAGS:-} "-DOP_LIBRARIES=\"${libraries#:}\"" \
    -isystem "$tensorflow/include" "$here"/run_export.c "$here"/json.c "$here"/signature.c \
    -o "$program" -pthread -L"$tensorflow" -l:libtensorflow_cc.so.2 \
    -l:libtensorflow_framework.so.2 -Wl,-rpath,"$tensorflow" -Wl,--allow-shlib-undefined
