# One command per wish; `make` alone lists them.
JOBS ?= $(shell nproc)
RELEASE := build/release
FEROMA := $(RELEASE)/bin/feroma
DEMO_RUN := runs/demo
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local
# ccache is used where it is installed and never required.
LAUNCHER := $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
# Without this it keeps nothing that was compiled from precompiled headers.
export CCACHE_SLOPPINESS ?= pch_defines,time_macros

# configure/build/check PRESET: every target goes through these, so all folders are made the same way. Two tests more
# than there are cores are played at once: some mostly wait.
configure = cmake --preset $(1) $(LAUNCHER)
build = cmake --build build/$(1) --parallel $(JOBS)
check = tests/in_memory ctest --test-dir build/$(1) --output-on-failure --parallel $$(($(JOBS) + 2))

.DEFAULT_GOAL := help
.PHONY: help demo federation-demo install deb deb-check test test-all test-neon bench reproduce fuzz format format-check layers lint setup setup-all fresh-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## install what is missing, build, run FedAvg against Feroma, write runs/demo/report.html
	scripts/setup demo
	$(call configure,release)
	$(call build,release) --target feroma
	$(FEROMA) run configs/demo.toml --out $(DEMO_RUN) --overwrite

federation-demo: ## a server and five clients with certificates on this machine, two of them killed on the way
	scripts/setup test
	$(call configure,release)
	$(call build,release) --target feroma
	scripts/federation-demo $(FEROMA)

install: ## build the program and the library and install them under PREFIX (default /usr/local) in DESTDIR
	scripts/setup demo
	$(call configure,release)
	$(call build,release) --target feroma
	DESTDIR="$(DESTDIR)" cmake --install $(RELEASE) --prefix "$(PREFIX)"

deb: ## build the Debian package of the program and its systemd units, build/release/feroma_*.deb
	scripts/setup test
	$(call configure,release)
	$(call build,release) --target feroma
	cpack --config $(RELEASE)/CPackConfig.cmake

deb-check: deb ## prove the package in a clean Debian 12 chroot (needs root)
	scripts/deb-check

test: ## install what is missing, build everything, run the fast tests
	scripts/setup test
	$(call configure,release)
	tools/check-layers
	tools/format-check
	$(call build,release)
	$(call check,release) -LE slow --no-tests=error

# Everything is installed before anything is built: what is missing, a browser for example, is not tested.
test-all: ## also the slow tests, the kernels on NEON, and the fast tests under AddressSanitizer, UBSan and ThreadSanitizer
	scripts/setup all
	$(MAKE) test
	$(call check,release) -L slow
	$(call configure,asan)
	$(call build,asan)
	$(call check,asan) -LE slow --no-tests=error
	$(call configure,tsan)
	$(call build,tsan)
	TSAN_OPTIONS="suppressions=$(CURDIR)/tools/tsan.supp ignore_noninstrumented_modules=1" $(call check,tsan) -LE slow --no-tests=error
	$(MAKE) test-neon

test-neon: ## the kernels on NEON: cross-compiled for arm64, run by qemu, same bits as AVX2
	scripts/setup all
	scripts/arm64-root build/arm64-root
	$(call configure,neon)
	$(call build,neon) --target core_tests data_tests engine_tests aggregation_tests
	$(call check,neon) -R '^(core|data|engine|aggregation)$$' --no-tests=error

bench: ## build and run the micro benchmarks (BENCH_FLAGS go to each of them)
	scripts/setup test
	$(call configure,release)
	$(call build,release) --target benchmarks
	@for bench in $(RELEASE)/bench/*_bench; do echo "== $$bench"; $$bench $(BENCH_FLAGS) || exit 1; done

reproduce: ## run a table of the paper: TABLE=main_table_2 [SEEDS="42 43"] [ALGORITHMS="feroma-auto fedavg"] [SET="key=value ..."] [OUT=runs/paper]
	@scripts/reproduce "$(TABLE)" --check
	scripts/setup demo
	$(call configure,release)
	$(call build,release) --target feroma
	scripts/reproduce "$(TABLE)" $(if $(OUT),--out "$(OUT)") --seeds "$(SEEDS)" --algorithms "$(ALGORITHMS)" \
	  $(foreach setting,$(SET),--set "$(setting)")

fuzz: ## feed the file parsers mutated inputs for FUZZ_SECONDS each (default 60), under AddressSanitizer
	scripts/setup all
	$(call configure,fuzz)
	$(call build,fuzz) --target fuzzers
	tools/fuzz build/fuzz $(FUZZ_SECONDS)

format: ## lay out every C++ file with clang-format
	tools/format-check --fix

format-check: ## say which C++ files are not laid out
	tools/format-check

layers: ## check the include directions
	tools/check-layers

lint: ## clang-tidy over src and apps, compiled by clang
	scripts/setup all
	cmake --preset clang
	tools/check-layers
	tools/format-check
	tools/lint build/clang $(JOBS)

setup: ## install the packages of make test
	scripts/setup test

setup-all: ## install everything, lint and browser tests included
	scripts/setup all

fresh-check: ## prove make demo and make test in a clean Debian 12 chroot (needs root)
	scripts/fresh-check

clean: ## remove build folders (runs/ is kept)
	rm -rf build
