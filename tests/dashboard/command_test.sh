#!/usr/bin/env bash
# The command around the page: what it refuses, what it prints, how it ends.
#
#   command_test.sh FEROMA [REASON]    why this build has no page, where it has none
set -euo pipefail

feroma=$1 reason=${2:-}
folder=$(mktemp -d)
process=
cleanup() {
  [[ -z $process ]] || kill -KILL "$process" 2> /dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# expect STATUS TEXT COMMAND...: the status it ends with, and what it says.
expect() {
  local status=$1 text=$2 got=0
  shift 2
  "$@" > "$folder/out" 2>&1 < /dev/null || got=$?
  [[ $got -eq $status ]] || fail "$* ended with $got instead of $status: $(cat "$folder/out")"
  grep -qF -- "$text" "$folder/out" || fail "$* did not say '$text': $(cat "$folder/out")"
}

expect 0 "feroma dashboard runs/demo" "$feroma" dashboard --help
config=$(dirname "$0")/../../configs/federation.toml
server=("$feroma" server "$config" --insecure --state "$folder/state" --listen 127.0.0.1:0)
has_network() { "$feroma" --version | grep -qF "gRPC): yes"; }
if [[ -n $reason ]]; then
  expect 0 "dashboard: no, $reason" "$feroma" --version
  expect 1 "this build has no dashboard: $reason" "$feroma" dashboard "$folder"
  if has_network; then
    expect 1 "this build has no dashboard: $reason" "${server[@]}" --check --dashboard 127.0.0.1:0
    expect 1 "this build has no dashboard: $reason" timeout 60 "${server[@]}" --dashboard 127.0.0.1:0
  fi
  exit 0
fi
expect 0 "dashboard: yes" "$feroma" --version
expect 2 "DIR is required" "$feroma" dashboard
expect 2 "must be the folder of a run" "$feroma" dashboard "$folder/nowhere"
expect 2 "--listen: must be HOST:PORT" "$feroma" dashboard "$folder" --listen nonsense
echo short > "$folder/token"
echo "a-token-of-twenty-two." > "$folder/good-token"
expect 2 "must be 16 to 256 letters" "$feroma" dashboard "$folder" --token-file "$folder/token"
! grep -qF "the page waits" "$folder/out" || fail "there is no page to wait: $(cat "$folder/out")"
expect 1 "none: cannot open" "$feroma" dashboard "$folder" --token-file "$folder/none"

# A folder with runs in it is not one of them.
mkdir -p "$folder/sweep/cells"
expect 2 "is that of a sweep: none of its cells has begun" "$feroma" dashboard "$folder/sweep"
for cell in e d c b a; do
  mkdir -p "$folder/sweep/cells/$cell"
  touch "$folder/sweep/cells/$cell/events.jsonl"
done
expect 2 "cells/a, $folder/sweep/cells/b, $folder/sweep/cells/c or 2 more" "$feroma" dashboard "$folder/sweep"
# What was packed has figures, and nothing to show as it went.
mkdir -p "$folder/packed/cells/a"
touch "$folder/packed/cells/a/"{config.toml,manifest.json,summary.json}
for named in packed packed/cells packed/cells/a; do
  expect 2 "no events.jsonl to show" "$feroma" dashboard "$folder/$named"
done
expect 2 "holds others: name one of them, $folder/sweep/cells/a" "$feroma" dashboard "$folder/sweep/cells"

# started ARGUMENTS...: the address that it prints.
started() {
  rm -f "$folder/url"  # of the last one: it would be taken for this one's
  # Not ignored, as background processes of a shell have it: Ctrl-C is tested.
  "$feroma" dashboard "$folder" "$@" > "$folder/url" 2> "$folder/log" < /dev/null &
  process=$!
  for _ in $(seq 300); do
    [[ -s $folder/url ]] && break
    sleep 0.1
  done
  url=$(cat "$folder/url")
}
ended() {
  local got=0
  kill -INT "$process"
  wait "$process" || got=$?
  process=
  [[ $got -eq 0 ]] || fail "Ctrl-C ended it with $got"
}

started --listen 127.0.0.1:0
grep -qF "holds no run yet: the page waits until one begins there" "$folder/log" || fail "it waits and does not say so"
[[ $url =~ ^http://127\.0\.0\.1:[0-9]+/$ ]] || fail "loopback needs no token: $url"
if has_network; then
  taken=${url#http://}
  expect 1 "change --dashboard" "${server[@]}" --check --dashboard "${taken%/}"
  expect 2 "--dashboard: must be HOST:PORT with a port up to 65535, like 127.0.0.1:7443, got $config" "$feroma" server --dashboard "$config" --insecure --check
  expect 2 "--dashboard: must be HOST:PORT" "${server[@]}" --dashboard here:99999
  # Without an address it is the dashboard's own; the port may be taken here.
  "${server[@]}" --check --dashboard > "$folder/out" 2>&1 < /dev/null || true
  grep -qF "127.0.0.1:7490" "$folder/out" || fail "--dashboard alone is not at 127.0.0.1:7490: $(cat "$folder/out")"
  expect 0 "127.0.0.1:0 is free" "${server[@]}" --check --dashboard 127.0.0.1:0 --dashboard-token-file "$folder/good-token"
fi
ended
touch "$folder/events.jsonl"
started --listen 127.0.0.1:0 --token-file "$folder/good-token"
[[ $url =~ ^http://127\.0\.0\.1:[0-9]+/$ ]] || fail "a token from a file is not printed: $url"
[[ ! -s $folder/log ]] || fail "the log should be empty: $(cat "$folder/log")"
ended
