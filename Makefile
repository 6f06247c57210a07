# make demo   segment a bundled sample, cut out another, show both in napari
# make test   every check and the whole test suite
# make clean  remove what these two made

VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test clean

demo: $(VENV)/.all
	$(BIN)/python scripts/demo.py

test: $(VENV)/.dev
	scripts/test.sh

$(VENV)/.%: pyproject.toml scripts/environment.sh
	scripts/environment.sh $*
	@touch $@

clean:
	rm -rf $(VENV) out build dist
