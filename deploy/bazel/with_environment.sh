#!/usr/bin/env bash
# Runs a test binary that another target has built: the arguments are its own.
exec "$@"
