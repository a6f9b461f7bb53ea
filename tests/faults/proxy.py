#!/usr/bin/env python3
"""A bad line as a program: delays every byte and cuts its connections now and then, until it is killed.

    proxy.py --listen 7443 --to 10.77.0.1:7443 --delay 0.2 --cut-every 12
"""
import argparse
import time

from meddler import Proxy

parser = argparse.ArgumentParser()
parser.add_argument("--listen", type=int, required=True, help="port on loopback")
parser.add_argument("--to", required=True, help="host:port")
parser.add_argument("--delay", type=float, default=0, help="seconds, in each direction")
parser.add_argument("--cut-every", type=float, default=1e9, help="seconds between cuts")
arguments = parser.parse_args()
host, port = arguments.to.rsplit(":", 1)
proxy = Proxy(arguments.listen, int(port), host)
proxy.disturbance.delay = arguments.delay
while True:
    time.sleep(arguments.cut_every)
    proxy.cut()
    print("cut", flush=True)
