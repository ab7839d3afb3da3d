#!/usr/bin/env bash
exec /usr/bin/python3 "$1"
