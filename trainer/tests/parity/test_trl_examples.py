"""On TRL's example datasets, tokenized and collated by TRL, our losses equal TRL's."""

from pathlib import Path

from our_run import run_ours
from run_comparison import assert_equal_runs
from token_rows import pair_file, sft_file
from trl_run import run_dpo_with_own_collator, run_sft_with_own_collator

# The conversational examples of TRL's documentation, "Dataset formats and types".
LANGUAGE_MODELING = [
    {
        "messages": [
            {"role": "user", "content": "Hello, how are you?"},
            {"role": "assistant", "content": "I'm doing great. How can I help you today?"},
            {"role": "user", "content": "I'd like to show off how chat templating works!"},
        ]
    },
    {
        "messages": [
            {"role": "user", "content": "What color is the sky?"},
            {"role": "assistant", "content": "It is blue."},
        ]
    },
]
PREFERENCE = [
    {
        "prompt": [{"role": "user", "content": "What color is the sky?"}],
        "chosen": [{"role": "assistant", "content": "It is blue."}],
        "rejected": [{"role": "assistant", "content": "It is green."}],
    },
    {
        "prompt": [{"role": "user", "content": "Where is the sun?"}],
        "chosen": [{"role": "assistant", "content": "In the sky."}],
        "rejected": [{"role": "assistant", "content": "In the sea."}],
    },
]


def test_language_modeling_over_all_tokens_equals_trl(base: Path, tmp_path: Path) -> None:
    theirs, rows = run_sft_with_own_collator(base, LANGUAGE_MODELING, tmp_path / "trl")
    ours = run_ours(tmp_path / "ours", "sft", sft_file(tmp_path / "rows.jsonl", rows), base)
    assert_equal_runs(ours, theirs)


def test_preferences_over_completions_equal_trl(base: Path, tmp_path: Path) -> None:
    theirs, pairs = run_dpo_with_own_collator(base, PREFERENCE, tmp_path / "trl")
    ours = run_ours(tmp_path / "ours", "dpo", pair_file(tmp_path / "pairs.jsonl", pairs), base)
    assert_equal_runs(ours, theirs)
