#!/usr/bin/env bash
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=deploy/debian exec /usr/bin/python3 "$1"
