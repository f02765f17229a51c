"""Forms of questions about two tables, from easy to hard: rows of `a` refer to rows of `b`."""

from coevolve_environments.plugins.intercode_sql.pattern_form import Form

_SIGNS = ((">", "above"), ("<", "below"))
_ENDS = (("", "lowest"), (" DESC", "highest"))

LINK_FORMS = (
    Form("join", 4, {"c": "a.shown", "d": "b.texts", "v": "d.values"},
         "SELECT {a}.{c} FROM {a} JOIN {b} ON {link} WHERE {b}.{d} = {literal}", (
        "Find the {c.words} of every {a.one} whose {b.one} has {v} as the {d.words}.",
        "Show the {c.words} of each {a.one} where the {d.words} of the {b.one} is {v}.",
    )),
    Form("join-columns", 4, {"c": "a.shown", "d": "b.shown"},
         "SELECT {a}.{c}, {b}.{d} FROM {a} JOIN {b} ON {link}", (
        "Show the {c.words} of every {a.one} and the {d.words} of its {b.one}.",
        "For each {a.one}, list the {c.words} and then the {d.words} of the {b.one}.",
    ), ("SELECT {a}.{c}, {b}.{d} FROM {a} LEFT JOIN {b} ON {link}",)),
    Form("join-comparison", 4, {"c": "a.shown", "n": "b.numbers", "sign more": _SIGNS, "v": "n.some_values"},
         "SELECT {a}.{c} FROM {a} JOIN {b} ON {link} WHERE {b}.{n} {sign} {v}", (
        "List the {c.words} of every {a.one} whose {b.one} has {n.with_article} {more} {v}.",
        "Show the {c.words} of each {a.one} where the {n.words} of the {b.one} is {more} {v}.",
    )),
    Form("join-back", 5, {"c": "b.shown", "d": "a.texts", "v": "d.values"},
         "SELECT DISTINCT {b}.{c} FROM {a} JOIN {b} ON {link} WHERE {a}.{d} = {literal}", (
        "List the different values of {c.words} among the {b.many} that have {a.with_article} whose"
        " {d.words} is {v}.",
        "Some {a.many} have {v} as the {d.words}. Show every distinct {c.words} of their {b.many}.",
    )),
    Form("join-count", 5, {"c": "b.shown"},
         "SELECT {b}.{c}, COUNT(*) FROM {a} JOIN {b} ON {link} GROUP BY {b}.{link.target}", (
        "For each {b.one} with at least one {a.one}, show the {c.words} and the number of {a.many}.",
        "How many {a.many} does each {b.one} have? Give the {c.words} and the number, but leave out any"
        " {b.one} without {a.many}.",
    )),
    Form("join-group", 5, {"g": "b.groups", "n f word": "a.aggregates"},
         "SELECT {b}.{g}, {f}({a}.{n}) FROM {a} JOIN {b} ON {link} GROUP BY {b}.{g}", (
        "Show each {g.owned} with the {word} {n.words} of its {a.many}.",
        "For every {g.words} of {b.with_article} with {a.many}, list the {g.words} and the {word} {n.words}"
        " of these {a.many}.",
    )),
    Form("join-aggregate", 5, {"d": "b.texts", "n f word": "a.aggregates", "v": "d.values"},
         "SELECT {f}({a}.{n}) FROM {a} JOIN {b} ON {link} WHERE {b}.{d} = {literal}", (
        "What is the {word} {n.words} of the {a.many} whose {b.one} has {v} as the {d.words}?",
        "Find the {word} {n.words} of all {a.many} where the {d.words} of the {b.one} is {v}.",
    )),
    Form("join-order", 5, {"c": "b.shown", "n": "a.numbers", "suffix most": _ENDS},
         "SELECT {b}.{c} FROM {a} JOIN {b} ON {link} ORDER BY {a}.{n}{suffix} LIMIT 1", (
        "What is the {c.owned} of the {a.one} with the {most} {n.words}?",
        "Find the {a.one} with the {most} {n.words} and show the {c.owned}.",
    ), (
        "SELECT {b}.{c} FROM {a} JOIN {b} ON {link} WHERE {a}.{n} IS NOT NULL"
        " ORDER BY {a}.{n}{suffix} LIMIT 1",
        "SELECT {b}.{c} FROM {a} LEFT JOIN {b} ON {link} ORDER BY {a}.{n}{suffix} LIMIT 1",
    )),
    Form("join-order", 5, {"c": "b.shown", "n": "a.numbers", "suffix most": _ENDS},
         "SELECT {b}.{c} FROM {a} JOIN {b} ON {link} ORDER BY {a}.{n}{suffix} LIMIT 3", (
        "What is the {c.owned} of the 3 {a.many} with the {most} {n.words}, starting with the {most}"
        " {n.words}?",
        "Find the 3 {a.many} with the {most} {n.words} and show the {c.owned}, starting with the {most}"
        " {n.words}.",
    ), (
        "SELECT {b}.{c} FROM {a} JOIN {b} ON {link} WHERE {a}.{n} IS NOT NULL"
        " ORDER BY {a}.{n}{suffix} LIMIT 3",
        "SELECT {b}.{c} FROM {a} LEFT JOIN {b} ON {link} ORDER BY {a}.{n}{suffix} LIMIT 3",
    )),
    Form("exclusion", 5, {"c": "b.shown"},
         "SELECT {c} FROM {b} WHERE {link.target} NOT IN (SELECT {link.column} FROM {a})", (
        "Which {b.many} have no {a.one}? Show the {c.words} of each.",
        "List the {c.words} of every {b.one} without any {a.one}.",
    )),
    Form("join-conditions", 6,
         {"c": "a.shown", "d v": "b.equalities", "n bound": "a.bounds", "sign more": _SIGNS},
         "SELECT {a}.{c} FROM {a} JOIN {b} ON {link} WHERE {b}.{d} = {literal} AND {a}.{n} {sign} {bound}", (
        "Among the {a.many} whose {b.one} has {v} as the {d.words}, find those whose {n.words} is {more}"
        " {bound} and show the {c.words} of each.",
        "List the {c.words} of each {a.one} whose {n.words} is {more} {bound} and whose {b.one} has {v} as"
        " the {d.words}.",
    ), distinct="cn"),
    Form("join-filter-order", 6,
         {"c": "a.shown", "d v": "b.equalities", "n": "a.numbers", "suffix most": _ENDS},
         "SELECT {a}.{c} FROM {a} JOIN {b} ON {link} WHERE {b}.{d} = {literal}"
         " ORDER BY {a}.{n}{suffix} LIMIT 1", (
        "Among the {a.many} whose {b.one} has {v} as the {d.words}, what is the {c.words} of the one with the"
        " {most} {n.words}?",
        "Of all {a.many} where the {d.words} of the {b.one} is {v}, find the one with the {most} {n.words}"
        " and show its {c.words}.",
    ), ("SELECT {a}.{c} FROM {a} JOIN {b} ON {link} WHERE {b}.{d} = {literal} AND {a}.{n} IS NOT NULL"
        " ORDER BY {a}.{n}{suffix} LIMIT 1",), distinct="cn"),
    Form("join-filter-count", 6, {"g": "b.groups", "d v": "a.equalities"},
         "SELECT {b}.{g}, COUNT(*) FROM {a} JOIN {b} ON {link} WHERE {a}.{d} = {literal} GROUP BY {b}.{g}", (
        "Show each {g.owned} with the number of its {a.many} that have {v} as the {d.words}, but leave out"
        " those without such {a.many}.",
        "For every {g.words} of {b.with_article}, list the {g.words} and the number of {a.many} whose"
        " {d.words} is {v}. Leave out every {g.words} with no such {a.one}.",
    ), ("SELECT {b}.{g}, COUNT(*) FROM {a} JOIN {b} ON {link} WHERE {a}.{d} = {literal}"
        " AND {b}.{g} IS NOT NULL GROUP BY {b}.{g}",)),
    Form("join-above-average", 7,
         {"c": "a.shown", "d v": "b.equalities", "n": "a.numbers", "sign more": _SIGNS},
         "SELECT {a}.{c} FROM {a} JOIN {b} ON {link} WHERE {b}.{d} = {literal}"
         " AND {a}.{n} {sign} (SELECT AVG({n}) FROM {a})", (
        "Among the {a.many} whose {b.one} has {v} as the {d.words}, find those whose {n.words} is {more} the"
        " average of all {a.many}. Show the {c.words} of each.",
        "List the {c.words} of each {a.one} whose {n.words} is {more} the average {n.words} of all {a.many}"
        " and whose {b.one} has {v} as the {d.words}.",
    ), distinct="cn"),
    Form("join-filter-having", 7,
         {"g": "b.groups", "n bound": "a.bounds", "sign more": _SIGNS, "k": (2, 3)},
         "SELECT {b}.{g} FROM {a} JOIN {b} ON {link} WHERE {a}.{n} {sign} {bound} GROUP BY {b}.{g}"
         " HAVING COUNT(*) >= {k}", (
        "Which values of {g.owned} have at least {k} {a.many} whose {n.words} is {more} {bound}?",
        "Find every {g.owned} with at least {k} {a.many} whose {n.words} is {more} {bound}.",
    ), ("SELECT {b}.{g} FROM {a} JOIN {b} ON {link} WHERE {a}.{n} {sign} {bound} AND {b}.{g} IS NOT NULL"
        " GROUP BY {b}.{g} HAVING COUNT(*) >= {k}",)),
    Form("join-filter-most", 7, {"g": "b.groups", "d v": "a.equalities"},
         "SELECT {b}.{g} FROM {a} JOIN {b} ON {link} WHERE {a}.{d} = {literal} GROUP BY {b}.{g}"
         " ORDER BY COUNT(*) DESC LIMIT 1", (
        "Which {g.owned} has the most {a.many} whose {d.words} is {v}?",
        "Find the {g.owned} with the largest number of {a.many} that have {v} as the {d.words}.",
    ), ("SELECT {b}.{g} FROM {a} JOIN {b} ON {link} WHERE {a}.{d} = {literal}"
        " AND {b}.{g} IS NOT NULL GROUP BY {b}.{g} ORDER BY COUNT(*) DESC LIMIT 1",)),
)  # fmt: skip
