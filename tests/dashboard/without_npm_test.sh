#!/usr/bin/env bash
# Without npm, or where npm cannot install, what is configured has no dashboard and says why; where one is asked for, it
# stops. Nothing is compiled but what CMake tries a compiler with.
#
#   without_npm_test.sh REPOSITORY CMAKE GENERATOR MAKE COMPILER NODE PREFIXES    NODE may be missing too
set -euo pipefail

readonly repository=$1 cmake=$2 generator=$3 make=$4 compiler=$5 node=$6 prefixes=$7
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}
# expect STATUS TEXT: how the last configuration ended, and what it said; CMake breaks the lines of errors.
expect() {
  [[ $code -eq $1 ]] || fail "it ended with $code instead of $1: $said"
  [[ $(tr -s ' \n' ' ' <<< "$said") == *"$2"* ]] || fail "expected \"$2\" in: $said"
}

# Wherever CMake looks for programs and npm is, it is not to be found, as soon as the compiler is known.
directories=
IFS=: read -ra path <<< "$PATH"
IFS=';' read -ra elsewhere <<< "$prefixes"
for directory in "${path[@]}" "${elsewhere[@]/%//bin}" {/usr/local,/usr,}/{bin,sbin}; do
  [[ ! -e $directory/npm ]] || directories+=" \"$directory\""
done
echo "set(CMAKE_IGNORE_PATH$directories)" > "$scratch/hide.cmake"

# The page alone, in a project of its own whose packages are not installed.
mkdir -p "$scratch/page/apps/dashboard"
cp "$repository"/apps/dashboard/{install.mjs,package-lock.json} "$scratch/page/apps/dashboard"
cat > "$scratch/page/CMakeLists.txt" << PROJECT
cmake_minimum_required(VERSION 3.25)
project(page LANGUAGES NONE)
include($repository/cmake/FeromaPage.cmake)
feroma_find_page(is_there reason)
message(STATUS "page \${is_there}, \${reason}")
PROJECT
page() { # page OPTION...
  code=0
  rm -rf "$scratch/page-build"
  said=$("$cmake" -S "$scratch/page" -B "$scratch/page-build" -G "$generator" -DCMAKE_MAKE_PROGRAM="$make" \
         -DFEROMA_NODE="$node" "$@" 2>&1) || code=$?
}
page -DCMAKE_PROJECT_INCLUDE="$scratch/hide.cmake"
expect 0 'page OFF, node or npm was not found (Debian: nodejs, npm)'
if [[ -x $node ]]; then
  printf '#!/bin/sh\nexit 1\n' > "$scratch/npm"
  chmod +x "$scratch/npm"
  page -DFEROMA_NPM="$scratch/npm"
  expect 0 'npm ci failed in apps/dashboard: is the registry within reach?'
  expect 0 'page OFF, npm could not install the packages of its page'
  printf '#!/bin/sh\nmkdir -p node_modules\n' > "$scratch/npm"
  page -DFEROMA_NPM="$scratch/npm"
  expect 0 'page ON, '
fi

# All of it, without npm.
everything() { # everything OPTION...
  code=0
  said=$("$cmake" -S "$repository" -B "$scratch/build" -G "$generator" -DCMAKE_MAKE_PROGRAM="$make" \
         -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefixes" -DCMAKE_PROJECT_INCLUDE="$scratch/hide.cmake" \
         -DFEROMA_NODE="$node" -DFEROMA_TORCH=OFF -DFEROMA_NET=OFF -DFEROMA_TESTS=OFF -DFEROMA_BENCHMARKS=OFF "$@" 2>&1) || code=$?
}
everything -DFEROMA_DASHBOARD=AUTO
expect 0 'feroma: no dashboard, because node or npm was not found (Debian: nodejs, npm)'
expect 0 'dashboard OFF,'
said=$(grep 'no_dashboard.cpp' "$scratch/build/compile_commands.json") || fail 'nothing stands in for the page'
expect 0 'FEROMA_NO_DASHBOARD='
expect 0 'node or npm was not found (Debian: nodejs, npm)'
if grep -q 'dashboard/site.cpp' "$scratch/build/compile_commands.json"; then
  fail 'the page is compiled all the same'
fi
everything -DFEROMA_DASHBOARD=ON
expect 1 'FEROMA_DASHBOARD=ON, but node or npm was not found (Debian: nodejs, npm)'
everything -DFEROMA_DASHBOARD=OFF
expect 0 'feroma: no dashboard, because it was configured with FEROMA_DASHBOARD=OFF'
[[ $failures -eq 0 ]]
