#!/usr/bin/env bash
# An edge client is a small binary: stripped under 8 MB, and linked with no more than a small machine has.
#
#   small_binary_test.sh PROGRAM STRIP
set -euo pipefail

readonly program=$1 strip=$2 limit=8000000
# libcurl is optional, and so is the network: gRPC, what it stands on, OpenSSL and cpp-httplib. What follows is the C++ runtime.
readonly allowed='libhwy|libfmt|libz|libsqlite3|libpng16|libjpeg|libarchive|libcurl|libgrpc|libgrpc\+\+|libgpr|libabsl_.*|libprotobuf|libssl|libcrypto|libcpp-httplib|libstdc\+\+|libm|libgcc_s|libc|ld-linux.*'
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT

"$strip" -o "$stripped" "$program"
size=$(stat -c %s "$stripped")
echo "$size bytes of at most $limit, stripped"
[[ $size -lt $limit ]]

if readelf --dynamic "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE "^($allowed)\.so"; then
  echo "FAILED: the program must not link these" >&2
  exit 1
fi
