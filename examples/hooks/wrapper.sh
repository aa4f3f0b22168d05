#!/bin/sh
# Without a scheduler's hook: the command runs as it would by itself, and is reported if it fails.
exec firstfault run --logs /shared/jobs/"$1" -- python3 train.py
