"""Token sequences as a tree: what several of them begin with is one stretch, held once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(eq=False)
class Stretch:
    """Tokens that one sequence has alone, or that several begin alike with, after those of its `parent`."""

    tokens: list[int]
    parent: Stretch | None
    depth: int
    """Tokens before the first: its position."""
    children: list[Stretch] = field(default_factory=list)


@dataclass(frozen=True)
class Tree:
    stretches: list[Stretch]
    """Every parent before its children."""
    ends: list[Stretch | None]
    """The last stretch of each sequence: with its ancestors, the sequence. None for an empty one."""

    @property
    def tokens(self) -> int:
        return sum(len(stretch.tokens) for stretch in self.stretches)


def grow_tree(sequences: Sequence[list[int]], *, least: int) -> Tree:
    """The tree in which a beginning becomes a stretch of its own where that saves at least `least` tokens.

    A function of its arguments alone. What is shared is found between neighbours in lexicographic order.
    """
    order = sorted(range(len(sequences)), key=lambda i: sequences[i])
    tree = Tree([], [None] * len(sequences))
    pending: list[tuple[list[int], int, Stretch | None]] = [(order, 0, None)]
    while pending:
        members, offset, parent = pending.pop()
        first = sequences[members[0]]
        if len(members) == 1:
            tree.ends[members[0]] = _grown(tree, first, offset, len(first), parent)
            continue
        shared = common_beginning(first, sequences[members[-1]])
        if (shared - offset) * (len(members) - 1) >= max(least, 1):
            parent, offset = _grown(tree, first, offset, shared, parent), shared
        groups = _by_token(members, sequences, shared)
        pending += [(group, offset, parent) for group in reversed(groups)]
    return tree


def common_beginning(one: list[int], other: list[int]) -> int:
    """How many tokens two sequences begin alike with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _grown(tree: Tree, sequence: list[int], start: int, end: int, parent: Stretch | None) -> Stretch | None:
    """A new stretch below `parent`; `parent` itself when there is no token to add."""
    if start == end:
        return parent
    stretch = Stretch(sequence[start:end], parent, start)
    tree.stretches.append(stretch)
    if parent is not None:
        parent.children.append(stretch)
    return stretch


def _by_token(members: list[int], sequences: Sequence[list[int]], at: int) -> list[list[int]]:
    """Members in groups of the same token at place `at`; one that ends there is a group of its own."""
    groups: list[list[int]] = []
    latest: int | None = None
    for member in members:
        token = sequences[member][at] if at < len(sequences[member]) else None
        if token is not None and token == latest:
            groups[-1].append(member)
        else:
            groups.append([member])
        latest = token
    return groups
