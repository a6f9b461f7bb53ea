"""A network that can be disturbed: a TCP proxy whose connections are delayed, slowed down, blackholed, stalled or cut."""
import select
import socket
import threading
import time

PIECE = 16384


class Disturbance:
    """What happens to bytes on their way, in both directions; changed while connections live."""

    def __init__(self):
        self.delay = 0.0  # seconds
        self.rate = {"up": None, "down": None}  # bytes per second
        self.blackhole = {"up": False, "down": False}  # bytes vanish, nobody is told
        self.refuse = False  # new connections are closed at once


class Proxy(threading.Thread):
    """Passes connections on to a server. One thread for all of them."""

    def __init__(self, port, target, host="127.0.0.1"):
        super().__init__(daemon=True)
        self.disturbance = Disturbance()
        self.target = (host, target)
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.pairs = []  # (client, server)
        self.ways = {}  # socket: [the other end, direction, waiting [(when, bytes)], allowance]
        self.ending = False
        self.lock = threading.Lock()
        self.start()

    def run(self):
        last = time.monotonic()
        while not self.ending:
            now = time.monotonic()
            with self.lock:
                readers = [self.listener] + [s for s, way in self.ways.items() if sum(len(b) for _, b in way[2]) < 4 * PIECE]
            try:
                readable, _, _ = select.select(readers, [], [], 0.005)
            except (OSError, ValueError):  # another thread cut one of them meanwhile
                continue
            for ready in readable:
                self.accept() if ready is self.listener else self.read(ready)
            with self.lock:
                ways = list(self.ways.items())
            for _, way in ways:
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
            self.ways[client] = [server, "up", [], 0.0]
            self.ways[server] = [client, "down", [], 0.0]

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
        if not data:
            self.cut(end)
        elif not self.disturbance.blackhole[way[1]]:
            way[2].append((time.monotonic() + self.disturbance.delay, data))

    def write(self, way, now, passed):
        other, direction, waiting, _ = way
        rate = self.disturbance.rate[direction]
        way[3] = min(way[3] + passed * rate, max(rate, 1)) if rate is not None else 0.0
        while waiting and waiting[0][0] <= now:
            when, data = waiting[0]
            most = len(data) if rate is None else int(way[3])
            if most <= 0:
                return
            try:
                sent = other.send(data[:most])
            except BlockingIOError:
                return
            except OSError:
                self.cut(other)
                return
            way[3] -= sent if rate is not None else 0
            if sent == len(data):
                waiting.pop(0)
            else:
                waiting[0] = (when, data[sent:])

    def cut(self, end=None, half=False):
        """Ends one connection, or all of them; `half`: the server's side only, and the client is not told."""
        with self.lock:
            for pair in list(self.pairs):
                if end is not None and end not in pair:
                    continue
                self.pairs.remove(pair)
                for socket_end in pair[1:] if half else pair:
                    self.ways.pop(socket_end, None)
                    socket_end.close()
                if half:
                    self.ways.pop(pair[0], None)  # open, and silent

    def stop(self):
        self.ending = True
        self.join()
        self.cut()
        self.listener.close()
