"""Content of the small world: people, notes, and the twelve tasks. All of it is fictional."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from coevolve_environments.protocol import Json, Split

NOW = "2024-03-04T09:00:00"
WRITTEN = "2024-03-01 08:00:00"
APP = "simple_note"

LOGIN = """accounts = apis.supervisor.show_account_passwords()
passwords = {account["account_name"]: account["password"] for account in accounts}
email = apis.supervisor.show_profile()["email"]
token = apis.simple_note.login(username=email, password=passwords["simple_note"])["access_token"]
notes = apis.simple_note.search_notes(access_token=token, page_limit=20)
print(notes)"""
DONE = "apis.supervisor.complete_task()"


@dataclass(frozen=True)
class Person:
    first_name: str
    last_name: str
    email: str
    phone_number: str
    birthday: str
    password: str


@dataclass(frozen=True)
class Note:
    title: str
    content: str
    tags: tuple[str, ...] = ()


PEOPLE = (
    Person("Mira", "Halvorsen", "mira.halvorsen@example.org", "5550000001", "1990-04-12", "lantern-42"),
    Person("Tomas", "Okafor", "tomas.okafor@example.org", "5550000002", "1984-11-30", "harbour-17"),
)
"""The supervisor is first. The other person has notes with the same titles, which must not change."""

NOTES = (
    Note("Bread for Sunday", "rye flour 4\nyeast 1\nsalt 2", ("kitchen", "shopping")),
    Note("Garden beds", "beans in the north bed, chard in the south one", ("garden",)),
    Note("Old phone numbers", "none of these answers any more", ("archive",)),
    Note("Paint for the hall", "primer 18\nwhite 31\nbrushes 9", ("house", "shopping")),
    Note("Reading list", "Middlemarch\nThe Leopard\nPersuasion", ("books",)),
    Note("Rainwater barrel", "tap drips; washer size 12", ("garden", "house")),
    Note("Seed order", "kale 3\nleek 5\nborage 2\ndill 4", ("garden", "shopping")),
    Note("Trip to the coast", "train at 8:10, back at 19:40", ("travel",)),
    Note("Packing list", "boots, lamp, map", ("travel",)),
    Note("Choir dates", "rehearsals on Tuesdays", ("music",)),
)


@dataclass(frozen=True)
class MiniTask:
    """One task, its expected changes, and code blocks that solve it."""

    scenario: str
    number: int
    split: Split
    difficulty: int
    instruction: str
    solution: tuple[str, ...]
    removed: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    added: Json = field(default_factory=dict)
    """Title and content of new notes."""
    answer: int | str | None = None

    @property
    def id(self) -> str:
        return f"{self.scenario}_{self.number}"


def mini_tasks() -> list[MiniTask]:
    """Returns four scenarios of three tasks each: two scenarios for training, two held out."""
    return [
        *_numbered(_drop, ["Old phone numbers", "Packing list", "Choir dates"]),
        *_numbered(_count, ["garden", "shopping", "travel"]),
        *_numbered(_pin, ["house", "shopping", "garden"]),
        *_numbered(_total, ["Bread for Sunday", "Paint for the hall", "Seed order"]),
    ]


def _numbered(make: Callable[[int, str], MiniTask], subjects: Sequence[str]) -> list[MiniTask]:
    return [make(number, subject) for number, subject in enumerate(subjects, 1)]


def _drop(number: int, title: str) -> MiniTask:
    find = f'note = next(note for note in notes if note["title"] == "{title}")'
    delete = 'apis.simple_note.delete_note(note_id=note["note_id"], access_token=token)'
    return MiniTask(
        "drop",
        number,
        "train",
        1,
        f'Delete my note "{title}" in Simple Note.',
        (LOGIN, f"{find}\n{delete}", DONE),
        removed=(title,),
    )


def _count(number: int, tag: str) -> MiniTask:
    count = len(_tagged(tag))
    found = f'print(sum("{tag}" in note["tags"] for note in notes))'
    return MiniTask(
        "count",
        number,
        "train",
        1,
        f'How many of my notes in Simple Note have the tag "{tag}"?',
        (LOGIN, found, f"apis.supervisor.complete_task(answer={count})"),
        answer=count,
    )


def _pin(number: int, tag: str) -> MiniTask:
    pin = (
        f'for note in [note for note in notes if "{tag}" in note["tags"]]:\n'
        '    apis.simple_note.update_note(note_id=note["note_id"], pinned=True, access_token=token)'
    )
    return MiniTask(
        "pin",
        number,
        "held-out",
        2,
        f'Pin every note of mine in Simple Note that has the tag "{tag}", and no other.',
        (LOGIN, pin, DONE),
        pinned=_tagged(tag),
    )


def _total(number: int, title: str) -> MiniTask:
    content = next(note.content for note in NOTES if note.title == title)
    total = sum(int(line.rsplit(" ", 1)[1]) for line in content.splitlines())
    read = (
        f'note_id = next(note["note_id"] for note in notes if note["title"] == "{title}")\n'
        'content = apis.simple_note.show_note(note_id=note_id, access_token=token)["content"]\nprint(content)'
    )
    write = (
        'total = sum(int(line.rsplit(" ", 1)[1]) for line in content.splitlines())\n'
        f'apis.simple_note.create_note(title="Total: {title}", content=str(total), access_token=token)'
    )
    return MiniTask(
        "total",
        number,
        "held-out",
        3,
        f'Each line of my note "{title}" in Simple Note ends with a number. Add them up and write the sum, '
        f'and nothing else, into a new note with the title "Total: {title}".',
        (LOGIN, read, write, DONE),
        added={f"Total: {title}": str(total)},
    )


def _tagged(tag: str) -> tuple[str, ...]:
    return tuple(note.title for note in NOTES if tag in note.tags)
