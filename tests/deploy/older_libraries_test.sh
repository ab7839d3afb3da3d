#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 "$1"
