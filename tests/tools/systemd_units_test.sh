#!/usr/bin/env bash
# The units of the package are ones that systemd takes without a word, and what they call are options of the program.
#
#   systemd_units_test.sh PROGRAM PACKAGING_FOLDER
set -euo pipefail

readonly program=$1 packaging=$2
readonly skipped=77
if ! command -v systemd-analyze >/dev/null; then
  echo "SKIPPED: systemd-analyze is missing (Debian: systemd): the units are NOT tested" >&2
  exit "$skipped"
fi
sandbox=$(mktemp -d)
trap 'rm -rf "$sandbox"' EXIT

status=0
for unit in feroma.service feroma-client@.service; do
  # Where the package puts the program there may be none, or another one.
  sed "s|/usr/bin/feroma |$program |" "$packaging/$unit" >"$sandbox/$unit"
  if ! complaints=$(systemd-analyze verify --man=no --recursive-errors=no "$sandbox/$unit" 2>&1) || [[ -n $complaints ]]; then
    echo "FAILED: $unit: $complaints" >&2
    status=1
  fi
  command=$(sed -n 's|^ExecStart=/usr/bin/feroma \([a-z]*\) .*|\1|p' "$packaging/$unit")
  help=$("$program" "$command" --help)
  while read -r option; do
    if ! grep -qE -- "(^|[ ,])$option([ ,=]|$)" <<<"$help"; then
      echo "FAILED: $unit: feroma $command has no option $option" >&2
      status=1
    fi
  done < <(grep '^Exec' "$packaging/$unit" | grep -oE -- '--[a-z-]+' | sort -u)
done
exit "$status"
