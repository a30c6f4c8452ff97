"""Work that waits for others, many at once, without holding more of it than is in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

In = TypeVar("In")
Out = TypeVar("Out")


def in_flight(
    function: Callable[[In], Out], items: Iterable[In], most: int
) -> Iterator[tuple[In, Out]]:
    """Each item with what the function made of it, as they come, with at most ``most`` at once.

    Items are taken only as there is room for them, so that memory does not grow with their number.
    Where a call raises, what is in flight ends first, then it is raised.
    """
    if most == 1:
        for item in items:
            yield item, function(item)
        return
    source = iter(items)
    flying: dict[Future[Out], In] = {}
    done: SimpleQueue[Future[Out]] = SimpleQueue()
    pool = ThreadPoolExecutor(most, thread_name_prefix="in-flight")
    try:
        while True:
            while len(flying) < most:
                try:
                    item = next(source)
                except StopIteration:
                    break
                future = pool.submit(function, item)
                flying[future] = item
                future.add_done_callback(done.put)
            if not flying:
                return
            future = done.get()
            yield flying.pop(future), future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
