#!/bin/sh
# `make release`: dist/ with the source archive, the wheel, and a bill of materials of an environment into which that wheel was
# installed with the project's own pins: what a user gets, without the tools that made it.
set -eu
rm -rf dist
"$RUN" -m hatchling build
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$RUN" -m venv "$place/env"
"$place/env/bin/python" -m pip --quiet install --constraint constraints.txt setuptools wheel
"$place/env/bin/python" -m pip --quiet install --constraint constraints.txt --no-build-isolation dist/*.whl
"$TOOL" -m cyclonedx_py environment "$place/env/bin/python" --pyproject pyproject.toml --mc-type library \
  --spec-version 1.6 --output-format JSON --output-reproducible --validate --output-file dist/sbom.cdx.json
ls -l dist
