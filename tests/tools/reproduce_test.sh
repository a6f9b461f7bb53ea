#!/usr/bin/env bash
# scripts/reproduce: which tables it knows, what it asks of the program, and what it says at the end. Nothing is run.
#   reproduce_test.sh REPOSITORY FEROMA
set -euo pipefail
cd "$1"
readonly program=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

failures=0
expect() { # expect WHAT TEXT PART: TEXT must hold PART
  if [[ $2 != *"$3"* ]]; then
    printf 'reproduce_test: %s: "%s" is not in\n%s\n' "$1" "$3" "$2" >&2
    failures=$((failures + 1))
  fi
}

expect_code() { # expect_code WHAT CODE EXPECTED: a substring will not do, 127 has a 2 in it
  if [[ $2 -ne $3 ]]; then
    printf 'reproduce_test: %s: must be %s, got %s\n' "$1" "$3" "$2" >&2
    failures=$((failures + 1))
  fi
}

# A program that writes down what it is asked for, and knows the paper's tables.
plain_program() {
  cat > "$scratch/feroma" << PROGRAM
#!/usr/bin/env bash
[[ \$* == 'report --list-tables' ]] && exec "$program" "\$@"
echo "asked: \$*"
PROGRAM
}
plain_program
chmod +x "$scratch/feroma"
reproduce() { FEROMA="$scratch/feroma" scripts/reproduce "$@" 2>&1; }

code=0
said=$(reproduce main_table_3) || code=$?
expect_code 'exit code of an unknown table' "$code" 2
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
expect_code 'exit code without a table' "$code" 2
code=0
reproduce ../mnist-px > "$scratch/said" || code=$?
expect_code 'exit code of a path' "$code" 2

said=$(reproduce main_table_2 --seeds '42 43' --algorithms ' feroma-auto  fedavg ' --set scenario.rounds=2)
expect 'a run' "$said" 'asked: sweep configs/paper/sweeps/main_table_2.toml --out runs/paper --resume --seeds 42,43 --algorithms feroma-auto,fedavg --set scenario.rounds=2'
expect 'the end of a run' "$said" "feroma report --table main_table_2 runs/paper"
said=$(reproduce main_table_2 --seeds '' --algorithms '' --out "$scratch/out" --dry-run)
expect 'a dry run' "$said" "--out $scratch/out --resume --dry-run"
[[ $said != *'report --table'* ]] || { echo 'reproduce_test: a dry run has nothing to see' >&2; failures=$((failures + 1)); }
said=$(reproduce eps_R1 --out "$scratch/out" --dry-run)
expect 'a dry run of requirements' "$said" "would measure: $scratch/out/requirements.json"
[[ ! -e $scratch/out ]] || { echo 'reproduce_test: a dry run writes nothing' >&2; failures=$((failures + 1)); }
said=$(reproduce eps_R1 --out "$scratch/out")
expect 'requirements' "$said" "report --table eps_R1 $scratch/out"
expect 'the file of requirements' "$(cat "$scratch/out/requirements.json")" 'asked: bench --requirements --format json'

code=0
said=$(reproduce eps_R1 --out "$scratch/out" --seeds 43) || code=$?
expect_code 'exit code of settings for requirements' "$code" 2
expect 'settings for requirements' "$said" 'it takes no seeds, algorithms or settings'

# Data that are needed and absent are fetched before the cells run: not those of cells that are done, nor in a dry run.
absent='mnist,cifar10' fetches=yes
with_data() {
  cat > "$scratch/feroma" << PROGRAM
#!/usr/bin/env bash
cell() { printf '    {\n      "cell": "1",\n      "dataset": "%s",\n      "status": "%s"\n    },\n' "\$@"; }
[[ \$* == 'report --list-tables' ]] && exec "$program" "\$@"
if [[ \$* == *'--format json' ]]; then
  cell mnist pending; cell fmnist pending; cell cifar10 done
  exit 0
elif [[ \$* == 'data list' ]]; then
  for name in mnist fmnist cifar10; do
    [[ ,$absent, == *,\$name,* ]] && echo "\$name  1x28x28  absent (feroma data get \$name)" || echo "\$name  1x28x28  /data/\$name"
  done
  exit 0
fi
echo "asked: \$*"
[[ \$1 != data || $fetches == yes ]]
PROGRAM
  reproduce "${table:-main_table_2}" "$@"
}
said=$(with_data)
expect 'data that are fetched' "$said" $'reproduce: fetching mnist, which main_table_2 needs\nasked: data get mnist\nasked: sweep'
[[ $said != *'get fmnist'* && $said != *'get cifar10'* ]] || { echo "reproduce_test: only what is needed and absent: $said" >&2; failures=$((failures + 1)); }
said=$(table=eps_R1 with_data --out "$scratch/out")
expect 'data of requirements' "$said" $'reproduce: fetching mnist, which eps_R1 needs\nasked: data get mnist\nmeasured: '
for option in --dry-run '--set scenario.data_dir=data'; do
  said=$(with_data $option)
  [[ $said != *'data get'* ]] || { echo "reproduce_test: $option fetches nothing: $said" >&2; failures=$((failures + 1)); }
done
fetches=no
said=$(with_data)
expect 'data that cannot be fetched, and others that are here' "$said" 'mnist could not be fetched: those cells will fail, the others are run'
expect 'the cells of the others' "$said" 'asked: sweep'
absent='mnist,fmnist' code=0
said=$(with_data) || code=$?
expect_code 'exit code without any data' "$code" 1
expect 'no data at all' "$said" 'main_table_2 needs fmnist mnist, which could not be fetched'
[[ $said != *'asked: sweep'* ]] || { echo "reproduce_test: nothing is run without data: $said" >&2; failures=$((failures + 1)); }
plain_program

# What the real program makes of it: later sweeps take the folder, and the printed commands are such as it can read.
mkdir "$scratch/table" "$scratch/empty"
printf "[dataset]\nkind = 'csv'\nfile = 'rows.csv'\nlabel_column = 'y'\n" > "$scratch/table/dataset.toml"
{ echo x,y; for i in {0..59}; do echo "$((i % 7)),$((i % 2))"; done; } > "$scratch/table/rows.csv"
cat > "$scratch/base.toml" << BASE
[scenario]
dataset = '$scratch/table'
shift = 'iid'
drift_mode = 'static'
clients = 2
rounds = 1
drifts = 1
[training]
model = 'mlp'
[[algorithm]]
name = 'fedavg'
BASE
printf "[sweep]\nbase = 'base.toml'\n" > "$scratch/grid.toml"
said=$("$program" sweep "$scratch/grid.toml" --out "$scratch/out" --resume 2>&1) || true
expect 'a sweep in the folder of requirements' "$said" "results: $scratch/out/results.db"
for name in main_table_2 warmup_length; do
  said=$(reproduce "$name" --out "$scratch/empty")
  read -ra words <<< "${said##*"see it with: $scratch/feroma "}"
  said=$("$program" "${words[@]}" 2>&1) || true
  expect "feroma ${words[*]}" "$said" "$scratch/empty: holds no run"
done
expect 'a figure that is no table' "${words[*]}" "report $scratch/empty --sweep warmup_length --html $scratch/empty/warmup_length.html"

# A report of one sweep leaves out the cells of the others in its folder.
printf "[sweep]\nbase = 'base.toml'\nseeds = [7]\n" > "$scratch/other.toml"
"$program" sweep "$scratch/other.toml" --out "$scratch/out" --resume > "$scratch/said" 2>&1
rm "$scratch/out/requirements.json"  # made up above
said=$("$program" report "$scratch/out" --format json)
expect 'a report of all sweeps' "$said" '"seeds": 2'
said=$("$program" report "$scratch/out" --sweep other --format json)
expect 'a report of one sweep' "$said" '"seeds": 1'
code=0
said=$("$program" report "$scratch/out" --sweep oter 2>&1) || code=$?
expect_code 'exit code of an unknown sweep' "$code" 2
expect 'an unknown sweep' "$said" 'there are: grid, other; did you mean other?'
expect 'the help of a report' "$("$program" report --help)" '--sweep NAME'
[[ $failures -eq 0 ]] || exit 1
