"""The paged KV cache of one replica: blocks in use, blocks that are free but remembered, and who is forgotten first.

vLLM V1 (``v1/core/block_pool.py``) keeps free blocks in a queue, oldest first; a block keeps its content, and can be
found by the hash of its prefix, until it is handed out again. A request that ends returns its blocks last one first,
so that the tail of a prefix is forgotten before its head. Blocks of one request that lie next to each other in the
queue are held here as one *run*, which makes every operation independent of the prompts' length.
"""

from collections import OrderedDict


class BlockPool:
    """Runs are keyed by a shared prefix's number (from 0), or by ``own_key`` for what only one request has."""

    __slots__ = (
        "_cached",
        "_queue",
        "_references",
        "_unused",
        "block",
        "free",
        "keeps_own",
        "prefix_blocks",
        "remembers",
    )

    def __init__(
        self, blocks: int, block: int, prefix_tokens: int = 0, *, remembers: bool = True, keeps_own: bool = False
    ) -> None:
        """``blocks`` of ``block`` tokens; ``remembers`` is vLLM's prefix caching.

        ``keeps_own`` keeps what only one request has as well, for traffic that sends the same prompts again.
        """
        self.block = block
        self.free = blocks
        self.prefix_blocks = prefix_tokens // block
        self.remembers = remembers
        self.keeps_own = keeps_own
        self._unused = blocks
        self._queue: OrderedDict[int, int] = OrderedDict()
        self._cached: dict[int, int] = {}
        self._references: dict[int, int] = {}

    @property
    def may_know_own(self) -> bool:
        """Whether the cache may hold blocks that only one request has: some were kept, or it keeps them all."""
        return self.remembers and bool(self._queue)

    def found(self, prefix: int, request: int, tokens: int, same_tokens: int | None = None) -> int:
        """Return how many leading blocks of a request of ``tokens`` are in the cache; its last token never counts.

        What its session left behind agrees with it in the first ``same_tokens``, None if in all.
        """
        if not self.remembers:
            return 0
        if same_tokens is not None:
            tokens = min(tokens, same_tokens + 1)
        shared = self._cached.get(prefix, 0) if prefix >= 0 else 0
        whole = prefix < 0 or shared == self.prefix_blocks
        own = self._queue.get(own_key(request), 0) if whole and self._queue else 0
        return min(shared + own, (tokens - 1) // self.block)

    def admit(self, prefix: int, request: int, found: int, wanted: int) -> bool:
        """Hold ``found`` blocks of the cache and hand out the rest of ``wanted``; False, and nothing done, if full.

        Which of those found are shared is ``shared``; the others become the request's own.
        """
        idle = self._idle(prefix, found)
        if wanted - found + idle > self.free:
            return False
        if found or prefix >= 0:
            self._hold(prefix, request, found)
        self.take(wanted - found)
        return True

    def shared(self, prefix: int, found: int) -> int:
        """Return how many of the blocks found belong to the prefix."""
        return min(found, self._cached.get(prefix, 0)) if prefix >= 0 else 0

    def take(self, blocks: int) -> None:
        """Hand out free blocks, those first that were never used, then those unused for longest."""
        self.free -= blocks
        self._unused -= blocks
        if self._unused < 0:
            self._forget(-self._unused)
            self._unused = 0

    def remember(self, prefix: int, tokens: int) -> int:
        """Let others find the blocks of a prefix that ``tokens`` fill; return how many are new to the cache."""
        if prefix < 0 or not self.remembers:
            return 0
        known = self._cached.get(prefix, 0)
        new = max(0, min(tokens // self.block, self.prefix_blocks) - known)
        self._cached[prefix] = known + new
        return new

    def release(self, prefix: int, request: int, own: int, *, again: bool = False) -> None:
        """Take back the ``own`` blocks of a request, and its hold on its prefix; ``again`` if its prompt may return."""
        self._return_own(request, own, again or prefix >= 0 or self.keeps_own)
        if prefix >= 0 and self.remembers:
            self._let_go(prefix)

    def _idle(self, prefix: int, found: int) -> int:
        """Return how many of the found blocks are free: to hold them makes them unavailable to others."""
        if not found:
            return 0
        kept = self._queue.get(prefix, 0) if prefix >= 0 else 0
        return kept + found - self.shared(prefix, found)

    def _hold(self, prefix: int, request: int, found: int) -> None:
        if prefix >= 0 and self.remembers:
            self._references[prefix] = self._references.get(prefix, 0) + 1
            self.free -= self._queue.pop(prefix, 0)
            found -= self.shared(prefix, found)
        if found > 0:
            kept = self._queue.pop(own_key(request))
            self.free -= found
            if kept > found:
                self._unused += kept - found

    def _return_own(self, request: int, blocks: int, queued: bool) -> None:
        self.free += blocks
        if queued and self.remembers and blocks:
            # What the session left there before and could not use is the same again, or of no use.
            self._unused += self._queue.pop(own_key(request), 0)
            self._queue[own_key(request)] = blocks
        else:
            self._unused += blocks

    def _let_go(self, prefix: int) -> None:
        self._references[prefix] -= 1
        if self._references[prefix]:
            return
        del self._references[prefix]
        if self._cached.get(prefix, 0):
            self._queue[prefix] = self._cached[prefix]
            self.free += self._cached[prefix]

    def _forget(self, blocks: int) -> None:
        while blocks:
            key, kept = next(iter(self._queue.items()))
            lost = min(kept, blocks)
            blocks -= lost
            if key >= 0:
                self._cached[key] -= lost
                if not self._cached[key]:
                    del self._cached[key]
            if lost == kept:
                del self._queue[key]
            else:
                self._queue[key] = kept - lost


def own_key(request: int) -> int:
    """Return the key of what only ``request`` has: below -1, so never a prefix's."""
    return -2 - request
