#!/usr/bin/env python3
"""Connects COUNT times to a server on this machine without saying anything, as fast as it can, from 250 of the
machine's own addresses, and counts what happens.

    flood.py 127.0.0.1 7443 10000
"""
import select
import socket
import sys
import time

host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
assert host.startswith("127."), "only this machine"
begin = time.monotonic()
waiting, closed, failed = [], 0, 0
for i in range(count):
    try:
        s = socket.create_connection((host, port), timeout=5, source_address=(f"127.0.1.{1 + i % 250}", 0))
        s.setblocking(False)
        waiting.append(s)
    except OSError:
        failed += 1
    if len(waiting) >= 500:  # our own descriptors are limited too
        readable, _, _ = select.select(waiting[:1000], [], [], 0)
        for s in set(readable) | set(waiting[:100]):
            closed += 1
            s.close()
            waiting.remove(s)
for s in waiting:
    s.close()
print(f"{count} connections in {time.monotonic() - begin:.1f} s, {failed} could not be made", file=sys.stderr)
