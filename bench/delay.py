"""A slow network on the loopback: what passes arrives later, in order. Run as `python delay.py TO_PORT DELAY_MS`."""

from __future__ import annotations

import asyncio
import sys

CHUNK = 1 << 16
WAITING = 4096  # chunks on their way at once: enough that the delay never limits how much passes


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    """One direction of one connection."""
    on_the_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(WAITING)
    clock = asyncio.get_running_loop().time

    async def arrive() -> None:
        while True:
            due, data = await on_the_way.get()
            await asyncio.sleep(max(0.0, due - clock()))
            if not data:
                break
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

    arriving = asyncio.create_task(arrive())
    try:
        while True:
            data = await reader.read(CHUNK)
            await on_the_way.put((clock() + delay_s, data))
            if not data:
                break
        await arriving
    except ConnectionError:  # one side hung up: the other is told by the end of its stream
        arriving.cancel()
    finally:
        writer.close()


async def main(port: int, delay_s: float) -> None:
    """Listen on a port of its own, which is printed; half of the delay is for each direction."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(carry(reader, far_writer, delay_s / 2), carry(far_reader, writer, delay_s / 2))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]) / 1000))
