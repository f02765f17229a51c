"""A prefix tree of token sequences: a common prefix of several sequences is one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(eq=False)
class PrefixNode:
    """Tokens of one sequence, or the common tokens of several, which follow the tokens of `parent`."""

    tokens: list[int]
    parent: PrefixNode | None
    depth: int
    """Position of the first token: number of tokens before it."""
    children: list[PrefixNode] = field(default_factory=list)


@dataclass(frozen=True)
class PrefixTree:
    nodes: list[PrefixNode]
    """Every parent before its children."""
    leaves: list[PrefixNode | None]
    """The last node of each sequence: with its ancestors, the sequence. None for an empty one."""

    @property
    def tokens(self) -> int:
        return sum(len(node.tokens) for node in self.nodes)


def build_prefix_tree(sequences: Sequence[list[int]], *, min_saved_tokens: int) -> PrefixTree:
    """Builds the tree in which a common prefix is a node if that saves at least `min_saved_tokens`.

    A pure function. Common prefixes are found between neighbors in lexicographic order.
    """
    order = sorted(range(len(sequences)), key=lambda i: sequences[i])
    tree = PrefixTree([], [None] * len(sequences))
    pending: list[tuple[list[int], int, PrefixNode | None]] = [(order, 0, None)]
    while pending:
        members, offset, parent = pending.pop()
        first = sequences[members[0]]
        if len(members) == 1:
            tree.leaves[members[0]] = _add_node(tree, first, offset, len(first), parent)
            continue
        common = common_prefix_length(first, sequences[members[-1]])
        if (common - offset) * (len(members) - 1) >= max(min_saved_tokens, 1):
            parent, offset = _add_node(tree, first, offset, common, parent), common
        groups = _group_by_token(members, sequences, common)
        pending += [(group, offset, parent) for group in reversed(groups)]
    return tree


def common_prefix_length(one: list[int], other: list[int]) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _add_node(
    tree: PrefixTree, sequence: list[int], start: int, end: int, parent: PrefixNode | None
) -> PrefixNode | None:
    """Adds a node below `parent`; returns `parent` itself when the range is empty."""
    if start == end:
        return parent
    node = PrefixNode(sequence[start:end], parent, start)
    tree.nodes.append(node)
    if parent is not None:
        parent.children.append(node)
    return node


def _group_by_token(members: list[int], sequences: Sequence[list[int]], position: int) -> list[list[int]]:
    """Groups members by their token at `position`; a sequence that ends there is a separate group."""
    groups: list[list[int]] = []
    latest: int | None = None
    for member in members:
        token = sequences[member][position] if position < len(sequences[member]) else None
        if token is not None and token == latest:
            groups[-1].append(member)
        else:
            groups.append([member])
        latest = token
    return groups
