"""Stream joins of others, given their best chance, to compare with: the same verbs (contract.py), the same answers.

handshake       low-latency handshake join: cores in a row, a nested loop in each one's piece of the window
splitjoin       SplitJoin and ScaleJoin: every tuple to all cores, stored in one, the same nested loop
rbsnlj          a red-black tree per subwindow
symmetric-hash  a hash table per window; equality only
"""

from __future__ import annotations

from panjoin.bench.baselines.contract import Baseline
from panjoin.bench.baselines.handshake import HandshakeJoin
from panjoin.bench.baselines.rbsnlj import RedBlackJoin
from panjoin.bench.baselines.split import SplitJoin
from panjoin.bench.baselines.symmetric_hash import SymmetricHashJoin

BASELINES: dict[str, type[Baseline]] = {
    join.name: join for join in (HandshakeJoin, SplitJoin, RedBlackJoin, SymmetricHashJoin)
}

__all__ = ["BASELINES", "Baseline", "HandshakeJoin", "RedBlackJoin", "SplitJoin", "SymmetricHashJoin"]
