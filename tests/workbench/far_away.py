"""A way to a server on which everything takes its time, as over a tunnel to another continent."""

import asyncio
import contextlib
import socket
import threading


@contextlib.contextmanager
def relay(listening: socket.socket, port: int, delay_s: float):
    """Pass what comes there on to the port, and back, each way after the delay."""
    loop = asyncio.new_event_loop()
    passing = set()

    async def connected(reader, writer):
        back, forth = await asyncio.open_connection("127.0.0.1", port)
        for pair in ((reader, forth), (back, writer)):
            task = loop.create_task(_pass_on(*pair, delay_s))
            passing.add(task)
            task.add_done_callback(passing.discard)

    async def serve():
        await asyncio.start_server(connected, sock=listening)

    def run():
        loop.run_until_complete(serve())
        loop.run_forever()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:

        async def end():
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            loop.stop()

        asyncio.run_coroutine_threadsafe(end(), loop)
        thread.join()
        loop.close()


async def _pass_on(reader, writer, delay_s: float) -> None:
    sending = asyncio.Queue()

    async def send():
        while piece := await sending.get():
            due, data = piece
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            writer.write(data)
            await writer.drain()

    with contextlib.suppress(ConnectionError), contextlib.closing(writer):
        async with asyncio.TaskGroup() as both:
            both.create_task(send())
            while data := await reader.read(1 << 16):
                sending.put_nowait((asyncio.get_running_loop().time() + delay_s, data))
            sending.put_nowait(None)
