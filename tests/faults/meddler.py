"""A network that can be disturbed: a TCP proxy whose connections are delayed, slowed down, blackholed, stalled, reset or
cut."""
import random
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

PIECE = 16384


class Disturbance:
    """What happens to bytes on their way, in both directions; changed while connections live."""

    def __init__(self):
        self.delay = 0.0  # seconds
        self.rate = {"up": None, "down": None}  # bytes per second
        self.blackhole = {"up": False, "down": False}  # bytes vanish, nobody is told
        # The share of pieces that are lost. TCP would send them again, and a proxy has no packets to lose: each resets
        # its connection instead, which is more than a network does.
        self.loss = 0.0
        self.refuse = False  # new connections are closed at once


@dataclass
class Way:
    """One direction of a connection."""
    to: socket.socket
    direction: str  # up, down
    waiting: list = field(default_factory=list)  # (when, bytes)
    allowance: float = 0.0  # bytes that may go now, where there is a rate
    ended: bool = False  # who spoke has hung up; what it said is still on its way


class Proxy(threading.Thread):
    """Passes connections on to a server. One thread for all of them."""

    def __init__(self, port, target, host="127.0.0.1", seed=0):
        super().__init__(daemon=True)
        self.disturbance = Disturbance()
        self.target = (host, target)
        self.draw = random.Random(seed)
        self.lost = 0  # pieces
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.pairs = []  # (client, server)
        self.ways = {}  # by the socket that is read
        self.ending = False
        self.lock = threading.Lock()
        self.start()

    def run(self):
        last = time.monotonic()
        while not self.ending:
            now = time.monotonic()
            with self.lock:
                readers = [self.listener] + [end for end, way in self.ways.items()
                                             if not way.ended and sum(len(data) for _, data in way.waiting) < 4 * PIECE]
            try:
                readable, _, _ = select.select(readers, [], [], 0.005)
            except (OSError, ValueError):  # another thread cut one of them meanwhile
                continue
            for ready in readable:
                self.accept() if ready is self.listener else self.read(ready)
            with self.lock:
                ways = list(self.ways.values())
            for way in ways:
                self.write(way, now, now - last)
            last = now

    def accept(self):
        client, _ = self.listener.accept()
        if self.disturbance.refuse:
            client.close()
            return
        try:
            server = socket.create_connection(self.target, 1)
        except OSError:
            client.close()
            return
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.setblocking(False)
        with self.lock:
            self.pairs.append((client, server))
            self.ways[client] = Way(server, "up")
            self.ways[server] = Way(client, "down")

    def read(self, end):
        way = self.ways.get(end)
        if way is None:
            return
        try:
            data = end.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if way.ended:
            return  # another thread hung up meanwhile
        if not data:
            self.cut(end)
        elif self.disturbance.loss > self.draw.random():
            self.lost += 1
            self.cut(end, reset=True)
        elif not self.disturbance.blackhole[way.direction]:
            way.waiting.append((time.monotonic() + self.disturbance.delay, data))

    def write(self, way, now, passed):
        rate = self.disturbance.rate[way.direction]
        way.allowance = min(way.allowance + passed * rate, max(rate, 1)) if rate is not None else 0.0
        while way.waiting and way.waiting[0][0] <= now:
            when, data = way.waiting[0]
            most = len(data) if rate is None else int(way.allowance)
            if most <= 0:
                return
            try:
                sent = way.to.send(data[:most])
            except BlockingIOError:
                return
            except OSError:
                self.cut(way.to)
                return
            way.allowance -= sent if rate is not None else 0
            if sent == len(data):
                way.waiting.pop(0)
            else:
                way.waiting[0] = (when, data[sent:])
        if way.ended and not way.waiting:
            self.cut(way.to)

    def hang_up(self):
        """Ends all connections for the clients, which may come again at once. What they said is still on its way, and
        the server hears of the end after the last of it."""
        with self.lock:
            for client, server in self.pairs:
                way = self.ways.get(client)
                if way is None or way.ended:
                    continue
                way.ended = True
                self.ways.pop(server, None)  # nobody is there to hear what it still says
                client.close()

    def cut(self, end=None, half=False, reset=False):
        """Ends one connection, or all of them; `half`: the server's side only, and the client is not told."""
        with self.lock:
            for pair in list(self.pairs):
                if end is not None and end not in pair:
                    continue
                self.pairs.remove(pair)
                for socket_end in pair[1:] if half else pair:
                    self.ways.pop(socket_end, None)
                    if reset and socket_end.fileno() >= 0:
                        socket_end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    socket_end.close()
                if half:
                    self.ways.pop(pair[0], None)  # open, and silent

    def stop(self):
        self.ending = True
        self.join()
        self.cut()
        self.listener.close()
