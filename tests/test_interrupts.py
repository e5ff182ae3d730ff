"""Ctrl-C waits for the end of a block where signals can be blocked, and nothing breaks where they cannot."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from dropgnn.interrupts import interrupts_deferred, interrupts_held


@pytest.fixture(autouse=True)
def _interrupts_count() -> Iterator[None]:
    """Also where the tests were started in the background by a shell, which ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be blocked on this system")
def test_a_held_interrupt_comes_at_the_end_of_the_block() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), interrupts_held():  # noqa: PT012 -- the block's end is what is tested
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="a thread cannot be sent a signal on this system")
def test_an_interrupt_that_another_thread_receives_waits_as_well() -> None:
    """Masks are a thread's own: one of a library's threads may be the one that the system picks."""
    held = threading.Event()

    def receive() -> None:
        held.wait()
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    other = threading.Thread(target=receive)
    other.start()
    reached = False
    with pytest.raises(KeyboardInterrupt), interrupts_held():  # noqa: PT012 -- the block's end is what is tested
        held.set()
        other.join()
        reached = True
    assert reached


def test_where_signals_cannot_be_blocked_the_parent_waits_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "pthread_sigmask", raising=False)
    reached = False
    with pytest.raises(KeyboardInterrupt), interrupts_held():  # noqa: PT012 -- the block's end is what is tested
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached


def test_a_deferred_interrupt_comes_at_the_end_of_the_block() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():  # noqa: PT012 -- the block's end is what is tested
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached
