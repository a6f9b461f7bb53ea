#!/usr/bin/env bash
# scripts/reproduce: which tables it knows, what it asks of the program, and what it says at the end. Nothing is run.
#   reproduce_test.sh REPOSITORY
set -euo pipefail
cd "$1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

failures=0
expect() { # expect WHAT TEXT PART: TEXT must hold PART
  if [[ $2 != *"$3"* ]]; then
    printf 'reproduce_test: %s: "%s" is not in\n%s\n' "$1" "$3" "$2" >&2
    failures=$((failures + 1))
  fi
}

# A program that writes down what it is asked for.
cat > "$scratch/feroma" << 'PROGRAM'
#!/usr/bin/env bash
echo "asked: $*"
PROGRAM
chmod +x "$scratch/feroma"
reproduce() { FEROMA="$scratch/feroma" scripts/reproduce "$@" 2>&1; }

code=0
said=$(reproduce main_table_3) || code=$?
expect 'exit code of an unknown table' "$code" 2
expect 'an unknown table' "$said" 'unknown table main_table_3'
for file in configs/paper/sweeps/*.toml; do
  name=$(basename "$file" .toml)
  expect 'the list of tables' "$said" "  $name "
  expect "the first line of $name" "$(head -1 "$file")" '# '
  reproduce "$name" --check
done
expect 'the list of tables' "$said" '  eps_R1 '
code=0
said=$(reproduce) || code=$?
expect 'exit code without a table' "$code" 2
code=0
reproduce ../mnist-px > "$scratch/said" || code=$?
expect 'exit code of a path' "$code" 2

said=$(reproduce main_table_2 --seeds '42 43' --algorithms ' feroma-auto  fedavg ' --set scenario.rounds=2)
expect 'a run' "$said" 'asked: sweep configs/paper/sweeps/main_table_2.toml --out runs/paper --resume --seeds 42,43 --algorithms feroma-auto,fedavg --set scenario.rounds=2'
expect 'the end of a run' "$said" "feroma report --table main_table_2 runs/paper"
said=$(reproduce main_table_2 --seeds '' --algorithms '' --out "$scratch/out" --dry-run)
expect 'a dry run' "$said" "--out $scratch/out --resume --dry-run"
[[ $said != *'report --table'* ]] || { echo 'reproduce_test: a dry run has nothing to see' >&2; failures=$((failures + 1)); }
said=$(reproduce eps_R1 --out "$scratch/out")
expect 'requirements' "$said" "report --table eps_R1 $scratch/out"
expect 'the file of requirements' "$(cat "$scratch/out/requirements.json")" 'asked: bench --requirements --format json'
[[ $failures -eq 0 ]] || exit 1
