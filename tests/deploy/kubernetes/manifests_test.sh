#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# manifest_schema.py is beside the test.
PYTHONPATH=$(dirname "$1") exec /usr/bin/python3 "$1"
