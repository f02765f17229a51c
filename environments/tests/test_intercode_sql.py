from conftest import Client


def test_gold_episodes_score_1_through_the_wire(server: Client) -> None:
    tasks = server.post("/envs/intercode-sql/data/tasks", split="train", count=50, seed=1, options={})[
        "tasks"
    ]
    with server.session() as session:
        for task in tasks:
            last = session.play(task["definition"], task["reference_actions"])
            assert last["done"]
            assert last["reward"] == 1.0
