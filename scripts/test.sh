#!/usr/bin/env bash
# Every check and the whole test suite; expects .venv as environment.sh makes it.
# Arguments go to pytest. All checks run even when one fails; the exit code tells.
set -uo pipefail
cd "$(dirname "$0")/.."

bin=.venv/bin
export LP_NUM_THREADS=1 OMP_NUM_THREADS=1 # the X server's renderer would take every core
failed=()

check() {
    printf '== %s\n' "$*"
    "$@" || failed+=("$(basename "$1")")
}

check $bin/ruff check --quiet .
check $bin/ruff format --check --quiet .
check $bin/mypy
check $bin/lint-imports --no-cache
check $bin/python scripts/check_docstrings.py
check $bin/npe2 validate --imports napari-onnxseg

if ((${#failed[@]})); then
    printf 'FAILED checks: %s\n' "${failed[*]}"
fi
run=(env QT_QPA_PLATFORM=offscreen)
if command -v xvfb-run >/dev/null && command -v xauth >/dev/null; then
    run=(xvfb-run -a -s '-screen 0 1600x1200x24')
fi
"${run[@]}" $bin/python -m pytest -n "${ONNXSEG_TEST_JOBS:-2}" --dist worksteal "$@"
tests=$?
((tests == 0 && ${#failed[@]} == 0))
