#!/usr/bin/env bash
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=deploy/ci exec /usr/bin/python3 "$1"
