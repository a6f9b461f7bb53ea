#!/usr/bin/env bash
# The library is usable from outside the tree: installed under another prefix, found by CMake, and good enough to build
# and run examples/03_my_algorithm.cpp on data that are written here.
#
#   install_test.sh BUILD_FOLDER SOURCE_FOLDER CXX_COMPILER
set -euo pipefail

readonly build=$1 source=$2 compiler=$3
sandbox=$(mktemp -d)
trap 'rm -rf "$sandbox"' EXIT
readonly prefix=$sandbox/prefix

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

expect() {
  local wanted=$1 text=$2
  [[ $text == *"$wanted"* ]] || fail "expected \"$wanted\" in: $text"
}

lines=$(wc -l <"$source/examples/03_my_algorithm.cpp")
((lines <= 60)) || fail "an algorithm of one's own must fit into 60 lines, got $lines in examples/03_my_algorithm.cpp"

cmake --install "$build" --prefix "$prefix" >"$sandbox/install.log" || fail "$(cat "$sandbox/install.log")"
"$prefix/bin/feroma" --version >/dev/null
for file in lib/libferoma.a include/feroma/feroma.h lib/cmake/feroma/feroma-config.cmake; do
  [[ -f $prefix/$file ]] || fail "$file is not installed"
done
if [[ -e $build/lib/libferoma_torch.so ]]; then
  expect $'engines: native, torch\n' "$("$prefix/bin/feroma" --version)"
fi
# The tree may be gone by the time the package is used.
if grep -rlF -e "$source" -e "$build" "$prefix/lib/cmake" "$prefix/include"; then
  fail "these files point back into the tree"
fi

# A copy, so that nothing beside the example helps.
cp -r "$source/examples" "$sandbox/examples"
cmake -G Ninja -S "$sandbox/examples" -B "$sandbox/build" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wshadow -Werror" >"$sandbox/build.log" 2>&1 &&
  cmake --build "$sandbox/build" >>"$sandbox/build.log" 2>&1 || fail "$(cat "$sandbox/build.log")"

# Two classes that one column tells apart.
mkdir "$sandbox/dots"
printf '[dataset]\nkind = "csv"\nfile = "rows.csv"\nlabel_column = "y"\n' >"$sandbox/dots/dataset.toml"
awk 'BEGIN { print "x,z,y"; for (i = 0; i < 400; i++) print (i % 2 ? 1 : -1) + i % 7 / 20 "," i % 5 / 5 "," i % 2 }' \
  >"$sandbox/dots/rows.csv"
sed -e "s|^dataset = .*|dataset = \"$sandbox/dots\"|" -e 's|^model = .*|model = "mlp"|' \
  "$sandbox/examples/03_my_algorithm.toml" >"$sandbox/dots.toml"
cd "$sandbox"
table=$(build/my_algorithm dots.toml run)
echo "$table"
for label in fedavg fedmedian fedmedian-epoch; do
  grep -qE "^$label +[0-9]+\.[0-9]+ " <<<"$table" || fail "the table has no row $label"
done
[[ -s run/report.html ]] || fail "there is no report"
# The last numbers of a model; the head of the file names the label.
numbers() { tail -c 4000 "run/models/$1.safetensors" | sha256sum; }
[[ $(numbers fedmedian) != "$(numbers fedavg)" ]] || fail "the outside algorithm gives what fedavg gives"
[[ $(numbers fedmedian) != "$(numbers fedmedian-epoch)" ]] || fail "the option of the outside algorithm changes nothing"

sed 's|^momentum_reset = .*|momentum_reset = "never"|' dots.toml >wrong.toml
if message=$(build/my_algorithm wrong.toml wrong 2>&1); then
  fail "a wrong option of the outside algorithm must be refused"
fi
expect "algorithm.2.momentum_reset" "$message"
