# SPDX-License-Identifier: Apache-2.0
"""Child processes that cannot outlive us.

Each child gets its own process group (a Ctrl-C at the terminal reaches only us, so that a
diagnosis is still possible) and dies by the kernel's hand when we die. That parent-death signal
is tied to the *thread* that forked, so all children are forked by one thread that lives as long
as the process.
"""

import atexit
import contextlib
import ctypes
import os
import queue
import signal
import subprocess
import threading
import time

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_children = []
_lock = threading.Lock()
_requests = queue.Queue()
_spawner = None


def _in_child():
    os.setsid()
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _spawn_loop():
    while True:
        arguments, options, reply = _requests.get()
        try:
            reply.put(subprocess.Popen(arguments, preexec_fn=_in_child, **options))
        except BaseException as error:  # handed to the caller, who raises it
            reply.put(error)


def spawn(arguments, **options):
    """Like subprocess.Popen; the child is ended at our exit, whatever the reason of that."""
    global _spawner
    with _lock:
        if _spawner is None:
            _spawner = threading.Thread(target=_spawn_loop, daemon=True, name="spawner")
            _spawner.start()
            atexit.register(terminate_all)
    reply = queue.Queue()
    options.setdefault("stdin", subprocess.DEVNULL)
    _requests.put(([str(a) for a in arguments], options, reply))
    child = reply.get()
    if isinstance(child, BaseException):
        raise child
    with _lock:
        _children.append(child)
    return child


def _signal_group(child, number):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


def terminate(child, grace=2.0):
    """Ends the child's process group: SIGTERM, after `grace` seconds SIGKILL. Idempotent."""
    if child is None:
        return
    if child.poll() is None:
        _signal_group(child, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(grace)
    if child.poll() is None:
        _signal_group(child, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(10)
    _signal_group(child, signal.SIGKILL)  # grandchildren that stayed in the group
    with _lock, contextlib.suppress(ValueError):
        _children.remove(child)


def kill(child):
    """SIGKILL at once, to the whole group."""
    _signal_group(child, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(10)
    terminate(child, grace=0.0)


def terminate_all():
    with _lock:
        children = list(_children)
    for child in children:
        _signal_group(child, signal.SIGTERM)
    end = time.monotonic() + 2.0
    for child in children:
        terminate(child, grace=max(0.0, end - time.monotonic()))


def run(arguments, timeout, **options):
    """Runs to the end or to `timeout` seconds; returns (status, combined output)."""
    child = spawn(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    try:
        output, _ = child.communicate(timeout=timeout)
        return child.returncode, output.decode(errors="replace")
    except subprocess.TimeoutExpired:
        kill(child)
        output, _ = child.communicate()
        return 124, output.decode(errors="replace")
    finally:
        terminate(child)


def install_signal_handlers():
    """Turns the signals that ask us to end into an ordinary exit, so that clean-up runs."""
    def leave(number, _frame):
        raise SystemExit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
