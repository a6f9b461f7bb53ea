#!/usr/bin/env bash
# libtorch stays in its module: the program runs without it, finds it in ../lib wherever both are put, and the module
# has no copy of state that the program keeps too.
#
#   torch_module_test.sh PROGRAM MODULE    MODULE may be missing, where libtorch is not built in
set -euo pipefail

readonly program=$1 module=$2
sandbox=$(mktemp -d)
trap 'rm -rf "$sandbox"' EXIT
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

expect() {
  local wanted=$1 text=$2
  [[ $text == *"$wanted"* ]] || fail "expected \"$wanted\" in: $text"
}

# Names only: an address may well contain "c10".
if ldd "$program" | awk '{ print $1 }' | grep -E 'torch|c10|caffe|blas'; then
  fail "$program needs these libraries, which belong behind the module"
fi

mkdir -p "$sandbox/bin" "$sandbox/lib"
cp "$program" "$sandbox/bin/feroma"
expect $'engines: native\n' "$("$sandbox/bin/feroma" --version)"

if [[ -e $module ]]; then
  cp "$module" "$sandbox/lib/"
  expect $'engines: native, torch\n' "$("$sandbox/bin/feroma" --version)"
  # Constants that need relocation are writable to nm and to nobody else: tables of virtual
  # functions or kernels, type names. (Which kernels are used is libhwy's to know, once for both.)
  if nm -C --defined-only "$module" | grep -E '^[0-9a-f]+ [bBdDuCsSgG] .*feroma::' |
    grep -vE '(vtable|typeinfo|VTT|typeinfo name) for |kModule$|gen_vtable|HighwayDispatchTable$'; then
    fail "the module has its own copy of this state"
  fi
else
  echo "skipped: $module is not built, so the module itself is NOT checked"
fi
[[ $failures -eq 0 ]]
