#!/usr/bin/env bash
# The tables under docs/results/ are what this program makes of the cells that are kept beside them, digit for digit;
# and what is packed is what was there.
#   results_test.sh REPOSITORY FEROMA
set -euo pipefail
cd "$1"
export FEROMA=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
die() {
  echo "results_test: $*" >&2
  exit 1
}

mkdir "$scratch/kept"
tar -xzf docs/results/cells.tar.gz -C "$scratch/kept"
scripts/draw-results "$scratch/kept" "$scratch/drawn" --tables
for table in "$scratch"/drawn/*.csv; do
  cmp "$table" "docs/results/${table##*/}" || die "docs/results/${table##*/} is not the table of the kept cells"
done

scripts/pack-cells "$scratch/kept" "$scratch/again.tar.gz"
scripts/pack-cells "$scratch/kept" "$scratch/once-more.tar.gz"
cmp "$scratch/again.tar.gz" "$scratch/once-more.tar.gz" || die "the same cells make other bytes"
cmp <(gzip -dc docs/results/cells.tar.gz) <(gzip -dc "$scratch/again.tar.gz") || die "what was unpacked is packed otherwise"

# A cell that was stopped on its way is not packed: it could not go on without its checkpoint.
cells=("$scratch"/kept/cells/*)
one=${cells[0]##*/}
tar -tzf "$scratch/again.tar.gz" > "$scratch/listing"
grep -q "$one" "$scratch/listing" || die "cell $one is not packed"
sed -i 's/"ended": ".*"/"ended": null/' "$scratch/kept/cells/$one/manifest.json"
scripts/pack-cells "$scratch/kept" "$scratch/fewer.tar.gz"
tar -tzf "$scratch/fewer.tar.gz" > "$scratch/listing"
! grep -q "$one" "$scratch/listing" || die "cell $one had not ended, and was packed"

refuses() { # refuses CODE FOLDER
  local code=0
  scripts/pack-cells "$2" "$scratch/none.tar.gz" 2> "$scratch/said" || code=$?
  [[ $code -eq $1 && ! -e $scratch/none.tar.gz ]] || die "$2 must be refused with $1, got $code: $(cat "$scratch/said")"
}
refuses 2 "$scratch"
mkdir -p "$scratch/empty/cells" "$scratch/empty/sweeps"
refuses 1 "$scratch/empty"
