"""Tests of every task of the small world. AppWorld's evaluator runs them on each task's data."""

import json
from typing import Any

NOTE = "simple_note.Note"
CHANGES = "only what was asked for has changed"
REMOVED = "exactly the notes asked for are gone"
ADDED = "exactly the notes asked for were written"
PINNED = "exactly the notes asked for were pinned"
ANSWER = "the answer is the one asked for"


def evaluate(
    test: Any,
    public_data: Any,
    private_data: Any,
    main_user: Any,
    models: Any,
    ground_truth_answer: Any,
) -> None:
    """The evaluator's own signature. `private_data` has the titles that must be removed, added and pinned."""
    expected = private_data
    touched = {NOTE} if expected.removed or expected.added or expected.pinned else set()
    with test(CHANGES):
        test.case(models.changed_model_names(), "==", touched)
    added, updated, removed = models.changed_records(NOTE)
    with test(REMOVED):
        test.case(sorted(note.title for note in removed), "==", sorted(expected.removed))
    with test(ADDED):
        test.case({note.title: note.content for note in added}, "==", dict(expected.added))
    with test(PINNED):
        test.case(sorted(note.title for note in updated), "==", sorted(expected.pinned))
        for note in updated:
            test.case(models.changed_field_names(NOTE, note.id), "==", {"pinned", "updated_at"})
            test.case(note.pinned, "==", True)
    with test(ANSWER):
        test.answer(json.loads(models.end.supervisor.Task.all()[0].answer), ground_truth_answer)
