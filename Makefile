# A thin front for CMake: make, make demo, make test, make asan, make tsan, make format,
# make tidy, make man, make bench, make scaling, make figures, make tutorial, make install, make deb.
# Everything is built under build/PRESET.
PRESET ?= release
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
INSTALLED = build/$(PRESET)/installed.txt

.PHONY: all programs dependencies configure demo test asan tsan debug format format-check tidy man bench \
  bench-instructions scaling figures tutorial install uninstall deb clean

all: configure
	cmake --build --preset $(PRESET) --parallel $(JOBS)

# All but the tests.
programs: configure
	cmake --build --preset $(PRESET) --parallel $(JOBS) --target programs

dependencies:
	@scripts/install-dependencies.sh --check || scripts/install-dependencies.sh

configure: dependencies
	@test -f build/$(PRESET)/build.ninja || cmake --preset $(PRESET)

demo: programs
	scripts/demo.sh build/$(PRESET)/bin

test: all
	ctest --preset $(PRESET) --parallel $(JOBS)

asan debug:
	$(MAKE) test PRESET=$@

# Clang, its OpenMP library and Archer.
tsan:
	@scripts/install-dependencies.sh --tidy
	$(MAKE) test PRESET=$@

format:
	@scripts/format.sh

format-check:
	@scripts/format.sh --check

tidy: all
	@scripts/tidy.sh build/$(PRESET)

# The pages under docs/man, from what the programs' --help says.
man: programs
	@scripts/install-dependencies.sh --tidy
	@scripts/man_pages.py build/$(PRESET)/bin

# Ours beside PyTorch, in alternated runs; BENCH_OPTIONS="--quick --only 'layer.*'" and the like. Its
# records are kept by commit, for tests/bench/compare.py.
COMMIT = $(shell git describe --always --dirty 2>/dev/null || echo here)
bench: all
	@mkdir -p build/bench
	tests/bench/bench.py --build build/$(PRESET) -o build/bench/$(COMMIT).jsonl $(BENCH_OPTIONS)

# Instructions of the kernels beside those recorded, by valgrind: on any machine, however busy.
bench-instructions: all
	tests/bench/instructions.py --bench-side build/$(PRESET)/tests/bench_side

# Times as batch, sequence, width, context and threads grow, each beside its bound: the pictures of
# docs/scaling.md, in build/scaling. SCALING_OPTIONS="--only width" and the like.
scaling: all
	@scripts/install-dependencies.sh --figures
	@scripts/scaling.sh build/$(PRESET) build/scaling $(SCALING_OPTIONS)

# The tutorial's pictures, made by our programs and drawn with Matplotlib: in OUT.
OUT ?= build/figures
figures: programs
	@scripts/install-dependencies.sh --figures
	@scripts/figures.sh build/$(PRESET)/bin $(OUT)

# The tutorial's numbers beside ours.
tutorial: programs
	@scripts/install-dependencies.sh --python
	@scripts/tutorial.sh build/$(PRESET)/bin

# PREFIX is where programs look for what belongs to them, DESTDIR a folder it is put under.
install: programs
	DESTDIR="$(DESTDIR)" cmake --install build/$(PRESET) --prefix "$(abspath $(PREFIX))"
	@cp build/$(PRESET)/install_manifest.txt $(INSTALLED)

# What the last installation put there, and of folders those of its own.
uninstall:
	@sed 's|^|$(DESTDIR)|' $(INSTALLED) | tr '\n' '\0' | xargs -0 rm -f
	@awk '{ while (sub("/[^/]*$$", "") && /\/attntools/) print "$(DESTDIR)" $$0 }' $(INSTALLED) | \
	  sort -ur | while read -r folder; do \
	    rm -rf "$$folder/__pycache__"; rmdir "$$folder" 2>/dev/null || true; \
	  done

# Debian packages of the programs and of the libraries, in build/PRESET.
deb: programs
	@scripts/install-dependencies.sh --deb
	cd build/$(PRESET) && cpack

clean:
	rm -rf build
