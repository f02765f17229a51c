"""Forms of questions about one table `e`, from easy to hard."""

from coevolve_environments.plugins.intercode_sql.pattern_form import Form

_SIGNS = ((">", "above"), ("<", "below"))
_ORDERS = (("", "ascending"), (" DESC", "descending"))
_ENDS = (("", "lowest"), (" DESC", "highest"))
_RANKS = (("", "least"), (" DESC", "most"))

TABLE_FORMS = (
    Form("column", 1, {"c": "e.shown"}, "SELECT {c} FROM {e}", (
        "List the {c.words} of every {e.one}.",
        "What is the {c.words} of each {e.one}?",
    )),
    Form("count", 1, {}, "SELECT COUNT(*) FROM {e}", (
        "How many {e.many} are there?",
        "Count the {e.many}.",
    )),
    Form("count", 1, {"c": "e.groups"}, "SELECT COUNT(DISTINCT {c}) FROM {e}", (
        "How many different values of {c.words} do the {e.many} have?",
        "Count the distinct values of {c.words} among the {e.many}.",
    )),
    Form("distinct", 1, {"c": "e.groups"}, "SELECT DISTINCT {c} FROM {e}", (
        "What are the different values of {c.words} among the {e.many}?",
        "List every distinct {c.words} of the {e.many}.",
    ), ("SELECT DISTINCT {c} FROM {e} WHERE {c} IS NOT NULL",)),
    Form("aggregate", 1, {"n f word": "e.aggregates"}, "SELECT {f}({n}) FROM {e}", (
        "What is the {word} {n.words} of all {e.many}?",
        "Find the {word} {n.words} of the {e.many}.",
    )),
    Form("columns", 2, {"c": "e.shown", "d": "e.shown"}, "SELECT {c}, {d} FROM {e}", (
        "Show the {c.words} and the {d.words} of every {e.one}.",
        "For each {e.one}, list the {c.words} and the {d.words}.",
    ), distinct="cd"),
    Form("equality", 2, {"c": "e.shown", "d": "e.shown_texts", "v": "d.values"},
         "SELECT {c} FROM {e} WHERE {d} = {literal}", (
        "What is the {c.words} of each {e.one} whose {d.words} is {v}?",
        "Find the {c.words} of every {e.one} with {v} as the {d.words}.",
    ), distinct="cd"),
    Form("count-equality", 2, {"d": "e.groups", "v": "d.values"},
         "SELECT COUNT(*) FROM {e} WHERE {d} = {literal}", (
        "How many {e.many} have {v} as the {d.words}?",
        "Count the {e.many} whose {d.words} is {v}.",
    )),
    Form("comparison", 2, {"c": "e.shown", "n": "e.numbers", "sign more": _SIGNS, "v": "n.inner_values"},
         "SELECT {c} FROM {e} WHERE {n} {sign} {v}", (
        "List the {c.words} of every {e.one} whose {n.words} is {more} {v}.",
        "Which {e.many} have {n.with_article} {more} {v}? Show the {c.words} of each.",
    ), distinct="cn"),
    Form("order", 2, {"c": "e.shown", "n": "e.numbers", "suffix direction": _ORDERS},
         "SELECT {c} FROM {e} ORDER BY {n}{suffix}", (
        "List the {c.words} of every {e.one} in {direction} order of {n.words}.",
        "Show the {c.words} of all {e.many}, sorted by {n.words} in {direction} order.",
    ), ("SELECT {c} FROM {e} WHERE {n} IS NOT NULL ORDER BY {n}{suffix}",), distinct="cn"),
    Form("aggregate-pair", 2, {"n": "e.numbers", "f one g other": "n.aggregate_pairs"},
         "SELECT {f}({n}), {g}({n}) FROM {e}", (
        "What are the {one} and the {other} {n.words} of the {e.many}?",
        "Show the {one} and the {other} {n.words} of all {e.many}.",
    )),
    Form("group-count", 2, {"g": "e.groups"}, "SELECT {g}, COUNT(*) FROM {e} GROUP BY {g}", (
        "Show each {g.words} with its number of {e.many}.",
        "For every {g.words}, list the {g.words} and the number of {e.many}.",
    ), ("SELECT {g}, COUNT(*) FROM {e} WHERE {g} IS NOT NULL GROUP BY {g}",)),
    Form("between", 3, {"c": "e.shown", "n": "e.numbers", "low high": "n.ranges"},
         "SELECT {c} FROM {e} WHERE {n} BETWEEN {low} AND {high}", (
        "Show the {c.words} of every {e.one} whose {n.words} is at least {low} and at most {high}.",
        "Which {e.many} have {n.with_article} from {low} to {high}? Give the {c.words} of each.",
    ), distinct="cn"),
    Form("like", 3, {"c": "e.shown", "d": "e.texts", "word": "d.first_words"},
         "SELECT {c} FROM {e} WHERE {d} LIKE '%{word}%'", (
        "Give the {c.words} of every {e.one} whose {d.words} contains {word}.",
        "Which {e.many} have {word} in the {d.words}? Show the {c.words} of each.",
    )),
    Form("order-limit", 3, {"c": "e.shown", "n": "e.numbers", "suffix most": _ENDS},
         "SELECT {c} FROM {e} ORDER BY {n}{suffix} LIMIT 1", (
        "What is the {c.words} of the {e.one} with the {most} {n.words}?",
        "Find the {e.one} with the {most} {n.words} and show the {c.words}.",
    ), ("SELECT {c} FROM {e} WHERE {n} IS NOT NULL ORDER BY {n}{suffix} LIMIT 1",), distinct="cn"),
    Form("order-limit", 3, {"c": "e.shown", "n": "e.numbers", "suffix most": _ENDS, "k": "e.limits"},
         "SELECT {c} FROM {e} ORDER BY {n}{suffix} LIMIT {k}", (
        "What is the {c.words} of the {k} {e.many} with the {most} {n.words}, starting with the {most}"
        " {n.words}?",
        "Find the {k} {e.many} with the {most} {n.words} and show the {c.words}, starting with the {most}"
        " {n.words}.",
    ), ("SELECT {c} FROM {e} WHERE {n} IS NOT NULL ORDER BY {n}{suffix} LIMIT {k}",), distinct="cn"),
    Form("columns-filter", 3,
         {"c": "e.first_shown", "b": "e.first_shown", "d": "e.groups", "v": "d.few_values"},
         "SELECT {c}, {b} FROM {e} WHERE {d} = {literal}", (
        "Show the {c.words} and the {b.words} of every {e.one} whose {d.words} is {v}.",
        "For each {e.one} with {v} as the {d.words}, list the {c.words} and the {b.words}.",
    ), distinct="cbd"),
    Form("aggregate-filter", 3, {"d": "e.groups", "n f word": "e.aggregates", "v": "d.values"},
         "SELECT {f}({n}) FROM {e} WHERE {d} = {literal}", (
        "What is the {word} {n.words} of the {e.many} whose {d.words} is {v}?",
        "Find the {word} {n.words} of all {e.many} with {v} as the {d.words}.",
    ), distinct="dn"),
    Form("group-aggregate", 3, {"g": "e.groups", "n f word": "e.aggregates"},
         "SELECT {g}, {f}({n}) FROM {e} GROUP BY {g}", (
        "Show each {g.words} with the {word} {n.words} of its {e.many}.",
        "For every {g.words}, list the {g.words} and the {word} {n.words} of the {e.many}.",
    ), ("SELECT {g}, {f}({n}) FROM {e} WHERE {g} IS NOT NULL GROUP BY {g}",), distinct="gn"),
    Form("group-order", 3, {"g": "e.groups", "suffix word": (("", "smallest"), (" DESC", "largest"))},
         "SELECT {g}, COUNT(*) FROM {e} GROUP BY {g} ORDER BY COUNT(*){suffix}", (
        "Show each {g.words} with its number of {e.many}, the {word} number first.",
        "For every {g.words}, list the {g.words} and the number of {e.many}, starting with the {word}"
        " number.",
    ), ("SELECT {g}, COUNT(*) FROM {e} WHERE {g} IS NOT NULL GROUP BY {g} ORDER BY COUNT(*){suffix}",)),
    Form("two-conditions", 4,
         {"c": "e.shown", "d": "e.text_groups", "n bound": "e.bounds", "v": "d.few_values",
          "sign more": _SIGNS, "word operator": (("and", "AND"), ("or", "OR"))},
         "SELECT {c} FROM {e} WHERE {d} = {literal} {operator} {n} {sign} {bound}", (
        "List the {c.words} of every {e.one} whose {d.words} is {v} {word} whose {n.words} is {more}"
        " {bound}.",
        "Show the {c.words} of each {e.one} where the {d.words} is {v} {word} the {n.words} is {more}"
        " {bound}.",
    ), distinct="cdn"),
    Form("nested-average", 4, {"c": "e.shown", "n": "e.numbers", "sign more": _SIGNS},
         "SELECT {c} FROM {e} WHERE {n} {sign} (SELECT AVG({n}) FROM {e})", (
        "Which {e.many} are {more} the average {n.words}? Show the {c.words} of each.",
        "List the {c.words} of every {e.one} whose {n.words} is {more} the average.",
    ), distinct="cn"),
    Form("having", 4,
         {"g": "e.groups", "sign word": ((">=", "at least"), ("<", "fewer than")), "k": (2, 3, 4)},
         "SELECT {g} FROM {e} GROUP BY {g} HAVING COUNT(*) {sign} {k}", (
        "Which values of {g.words} do {word} {k} {e.many} have?",
        "Find every {g.words} that {word} {k} {e.many} have.",
    ), ("SELECT {g} FROM {e} WHERE {g} IS NOT NULL GROUP BY {g} HAVING COUNT(*) {sign} {k}",)),
    Form("most-common", 4, {"g": "e.groups", "suffix word": _RANKS},
         "SELECT {g} FROM {e} GROUP BY {g} ORDER BY COUNT(*){suffix} LIMIT 1", (
        "What is the {word} common {g.words} among the {e.many}?",
        "Find the {word} common {g.words} of the {e.many}.",
    ), ("SELECT {g} FROM {e} WHERE {g} IS NOT NULL GROUP BY {g} ORDER BY COUNT(*){suffix} LIMIT 1",)),
    Form("most-common", 4, {"g": "e.groups", "suffix word": _RANKS, "k": "g.limits"},
         "SELECT {g} FROM {e} GROUP BY {g} ORDER BY COUNT(*){suffix} LIMIT {k}", (
        "What are the {k} {word} common values of {g.words} among the {e.many}, the {word} common first?",
        "Find the {k} {word} common values of {g.words} of the {e.many}, the {word} common first.",
    ), ("SELECT {g} FROM {e} WHERE {g} IS NOT NULL GROUP BY {g} ORDER BY COUNT(*){suffix} LIMIT {k}",)),
    Form("filter-most-common", 6, {"g": "e.groups", "d v": "e.equalities", "suffix most": _RANKS},
         "SELECT {g} FROM {e} WHERE {d} = {literal} GROUP BY {g} ORDER BY COUNT(*){suffix} LIMIT 1", (
        "What is the {most} common {g.words} among the {e.many} whose {d.words} is {v}?",
        "Find the {most} common {g.words} of the {e.many} with {v} as the {d.words}.",
    ), ("SELECT {g} FROM {e} WHERE {d} = {literal} AND {g} IS NOT NULL GROUP BY {g}"
        " ORDER BY COUNT(*){suffix} LIMIT 1",), distinct="gd"),
)  # fmt: skip
