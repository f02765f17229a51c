"""The clause patterns of the question generator, from easy (1) to hard (7).

Seed and held-out tasks have a difficulty up to 5 by default. The harder patterns are those of tasks that are
synthesized as harder ones.
"""

from typing import NamedTuple

from coevolve_environments.plugins.intercode_sql import combined_patterns as combined
from coevolve_environments.plugins.intercode_sql import grouped_patterns as grouped
from coevolve_environments.plugins.intercode_sql import joined_patterns as joined
from coevolve_environments.plugins.intercode_sql import plain_patterns as plain
from coevolve_environments.plugins.intercode_sql.pattern_query import PatternWriter


class Pattern(NamedTuple):
    difficulty: int
    write: PatternWriter


PATTERNS: dict[str, Pattern] = {
    "column": Pattern(1, plain.column),
    "count": Pattern(1, plain.count),
    "distinct": Pattern(1, plain.distinct),
    "aggregate": Pattern(1, grouped.aggregate),
    "columns": Pattern(2, plain.columns),
    "equality": Pattern(2, plain.equality),
    "count-equality": Pattern(2, plain.count_equality),
    "comparison": Pattern(2, plain.comparison),
    "order": Pattern(2, plain.order),
    "aggregate-pair": Pattern(2, grouped.aggregate_pair),
    "group-count": Pattern(2, grouped.group_count),
    "between": Pattern(3, plain.between),
    "like": Pattern(3, plain.like),
    "order-limit": Pattern(3, plain.order_limit),
    "columns-filter": Pattern(3, plain.columns_filter),
    "aggregate-filter": Pattern(3, grouped.aggregate_filter),
    "group-aggregate": Pattern(3, grouped.group_aggregate),
    "group-order": Pattern(3, grouped.group_order),
    "two-conditions": Pattern(4, plain.two_conditions),
    "nested-average": Pattern(4, plain.nested_average),
    "having": Pattern(4, grouped.having),
    "most-common": Pattern(4, grouped.most_common),
    "join": Pattern(4, joined.join),
    "join-columns": Pattern(4, joined.join_columns),
    "join-comparison": Pattern(4, joined.join_comparison),
    "join-back": Pattern(5, joined.join_back),
    "join-count": Pattern(5, joined.join_count),
    "join-group": Pattern(5, joined.join_group),
    "join-aggregate": Pattern(5, joined.join_aggregate),
    "join-order": Pattern(5, joined.join_order),
    "exclusion": Pattern(5, joined.exclusion),
    "filter-most-common": Pattern(6, combined.filter_most_common),
    "join-conditions": Pattern(6, combined.join_conditions),
    "join-filter-order": Pattern(6, combined.join_filter_order),
    "join-filter-count": Pattern(6, combined.join_filter_count),
    "join-above-average": Pattern(7, combined.join_above_average),
    "join-filter-having": Pattern(7, combined.join_filter_having),
    "join-filter-most": Pattern(7, combined.join_filter_most),
}
