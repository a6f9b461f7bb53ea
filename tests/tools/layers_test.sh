#!/usr/bin/env bash
# The layer checker accepts the tree and names the file, line and rule of every made-up violation.
set -euo pipefail

readonly root=$1
readonly checker=$root/tools/check-layers
sandbox=$(mktemp -d)
trap 'rm -rf "$sandbox"' EXIT
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

# Writes one file with one include on line 2 into an otherwise empty tree and runs the checker on it.
check_one() {
  local path=$1 include=$2
  rm -rf "$sandbox/tree"
  mkdir -p "$sandbox/tree/$(dirname "$path")"
  printf '#pragma once\n%s\n' "$include" >"$sandbox/tree/$path"
  "$checker" "$sandbox/tree" >"$sandbox/output" 2>&1
}

accepts() {
  check_one "$1" "$2" || fail "$1 with $2 must be accepted, got: $(cat "$sandbox/output")"
}

rejects() {
  local path=$1 include=$2 message=$3
  if check_one "$path" "$include"; then
    fail "$path with $include must be rejected"
  elif ! grep -qF "$path:2: $message" "$sandbox/output"; then
    fail "$path with $include must say \"$path:2: $message\", got: $(cat "$sandbox/output")"
  fi
}

"$checker" "$root" || fail "the tree itself has violations"

accepts src/data/x.cpp '#include "feroma/core/error.h"'
accepts src/data/x.cpp '#include "feroma/data/view.h"'
accepts src/drift/x.cpp '#include "feroma/partition/bank.h"'
accepts src/engine/torch/x.cpp '#include <torch/torch.h>'
accepts src/engine/x.cpp '#include "engine/torch/engine.h"'
accepts src/core/settings.cpp '#include <toml++/toml.h>'
accepts src/runtime/x.cpp '#include "feroma/report/record.h"'
accepts apps/feroma/x.cpp '#include "feroma/runtime/run.h"'
accepts apps/feroma/x.cpp '#include "commands.h"'
accepts include/feroma/feroma.h '#include "feroma/runtime/run.h"'

rejects src/data/x.cpp '#include "feroma/models/spec.h"' 'folder data may not include models'
rejects include/feroma/data/x.h '#include "feroma/models/spec.h"' 'folder data may not include models'
rejects src/core/x.cpp '#include "feroma/data/view.h"' 'folder core may not include data'
rejects src/report/x.cpp '#include <feroma/runtime/run.h>' 'folder report may not include runtime'
rejects src/runtime/x.cpp '#  include "feroma/net/server.h"' 'folder runtime may not include net'
rejects src/client/x.cpp '#include "profile/private.h"' 'folder client may not include profile'
rejects src/client/x.cpp '#include "feroma/no_such/x.h"' 'unknown folder no_such'
rejects include/feroma/engine/x.h '#include "engine/torch/engine.h"' 'a public header may not include the private header'
rejects include/feroma/engine/x.h '#include <torch/torch.h>' '<torch/torch.h> belongs in src/engine/torch/ only'
rejects src/core/options.cpp '#include <toml++/toml.h>' '<toml++/toml.h> belongs in src/core/settings.cpp only'
rejects src/runtime/x.cpp '#include <sqlite3.h>' '<sqlite3.h> belongs in src/store/ only'
rejects src/mapping/x.cpp '#include <nlohmann/json.hpp>' '<nlohmann/json.hpp> belongs in'
rejects src/runtime/x.cpp '#include "feroma/feroma.h"' 'unknown folder feroma.h'
rejects include/feroma/feroma.h '#include "engine/torch_engine.h"' 'apps may include public headers only'
rejects apps/feroma/x.cpp '#include "engine/torch/engine.h"' 'apps may include public headers only'

# A folder nobody has placed in the table is reported once, at line 0.
if check_one src/newcomer/x.cpp '#include <vector>' ||
  ! grep -qF 'src/newcomer/x.cpp:0: folder newcomer is not in the table' "$sandbox/output"; then
  fail "an unknown folder must be rejected, got: $(cat "$sandbox/output")"
fi
mkdir -p "$sandbox/empty"
if "$checker" "$sandbox/empty" >/dev/null 2>&1; then
  fail "a folder without sources must be rejected"
fi

exit $((failures > 0))
