#!/usr/bin/env python3
"""A bad line as a program, until it is killed: delays every byte, loses some of them, which resets their connection (see
meddler.py), and cuts all connections now and then. One line of output for each of the last two.

    proxy.py --listen 7443 --to 10.77.0.1:7443 --delay 0.2 --lose 0.002 --cut-every 12
"""
import argparse
import time

from meddler import Proxy

parser = argparse.ArgumentParser()
parser.add_argument("--listen", type=int, required=True, help="port on loopback")
parser.add_argument("--to", required=True, help="host:port")
parser.add_argument("--delay", type=float, default=0, help="seconds, in each direction")
parser.add_argument("--lose", type=float, default=0, help="share of pieces of up to 16 KiB")
parser.add_argument("--cut-every", type=float, default=1e9, help="seconds between cuts")
arguments = parser.parse_args()
host, port = arguments.to.rsplit(":", 1)
proxy = Proxy(arguments.listen, int(port), host)
proxy.disturbance.delay = arguments.delay
proxy.disturbance.loss = arguments.lose
told, next_cut = 0, time.monotonic() + arguments.cut_every
while True:
    time.sleep(0.5)
    for told in range(told + 1, proxy.lost + 1):
        print("lost", flush=True)
    if time.monotonic() >= next_cut:
        next_cut += arguments.cut_every
        proxy.cut()
        print("cut", flush=True)
