#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a test binary that another target has built: the arguments are its own.
exec "$@"
