"""A slow, distant line: delays each byte of TCP connections by half a round trip, and limits the speed of all of them
together. Prints its port, then runs until it is killed.

    python3 wan.py TARGET_PORT ROUND_TRIP_SECONDS BITS_PER_SECOND

A connection is made at once, as the server is at the start of the line. Each direction has its bandwidth."""

import asyncio
import collections
import sys

CHUNK = 16 << 10
# The bytes under way before the sender is held up: several times the line's own (bandwidth × delay).
IN_FLIGHT = 4 << 20


class Line:
    """One direction, shared by all connections: the time when data sent now has left it."""

    def __init__(self, delay, bits):
        self.delay, self.rate, self.free = delay, bits / 8, 0.0

    def arrival(self, size):
        now = asyncio.get_running_loop().time()
        self.free = max(self.free, now) + size / self.rate
        return self.free + self.delay


async def carry(reader, writer, line):
    loop = asyncio.get_running_loop()
    waiting, arrived, room = collections.deque(), asyncio.Event(), asyncio.Event()
    room.set()
    under_way, gone = 0, False

    async def deliver():
        nonlocal under_way, gone
        while True:
            while not waiting:
                arrived.clear()
                await arrived.wait()
            moment, data = waiting.popleft()
            late = moment - loop.time()
            if late > 0:
                await asyncio.sleep(late)
            if not data:
                return
            try:
                writer.write(data)
                await writer.drain()
            except (ConnectionError, OSError):
                # The receiver has gone.
                gone = True
                room.set()
                return
            under_way -= len(data)
            room.set()

    delivery = asyncio.create_task(deliver())
    try:
        while not gone and (data := await reader.read(CHUNK)):
            waiting.append((line.arrival(len(data)), data))
            arrived.set()
            under_way += len(data)
            # Gives other connections their turn on the line.
            while not gone and (under_way >= IN_FLIGHT or line.free - loop.time() > 0.05):
                if under_way >= IN_FLIGHT:
                    room.clear()
                    await room.wait()
                else:
                    await asyncio.sleep(line.free - loop.time() - 0.04)
        waiting.append((loop.time() + line.delay, b""))
        arrived.set()
        await delivery
        if writer.can_write_eof():
            writer.write_eof()
    except (ConnectionError, OSError):
        delivery.cancel()


async def main():
    target, round_trip, bits = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    up, down = Line(round_trip / 2, bits), Line(round_trip / 2, bits)

    async def accepted(reader, writer):
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(carry(reader, server_writer, up), carry(server_reader, writer, down))
        for end in (writer, server_writer):
            end.close()

    server = await asyncio.start_server(accepted, "127.0.0.1", 0, limit=CHUNK * 4)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
