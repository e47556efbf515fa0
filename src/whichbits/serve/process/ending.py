"""How a process ended, in words: an exit code, or the signal that killed it and what that usually means."""

import signal

_USUAL_CAUSES = {
    signal.SIGABRT: "it gave up on an error of its own",
    signal.SIGBUS: "a memory access failed, often a full /dev/shm or a file cut short",
    signal.SIGFPE: "an illegal division in its compiled code, a bug of the engine",
    signal.SIGILL: "an instruction that this processor does not have",
    signal.SIGKILL: "often the kernel, out of memory",
    signal.SIGSEGV: "an illegal memory access in its compiled code, a bug of the engine",
}


def ending(code: int | None) -> str:
    """Return ``code`` in words: -N and 128 + N are signal N, as Python and shells write it; the rest are exit codes."""
    number = None if code is None else -code if code < 0 else code - 128
    if number not in set(signal.Signals):
        return f"exit code {code}"
    killer = signal.Signals(number)
    cause = _USUAL_CAUSES.get(killer)
    return killer.name if cause is None else f"{killer.name} ({cause})"
