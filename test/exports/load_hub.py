"""Loads every config of a folder of the Hugging Face hub, as its users do, and prints the rows of each split."""

import json
import sys
import tempfile

from datasets import get_dataset_config_names, load_dataset

folder = sys.argv[1]
with tempfile.TemporaryDirectory() as cache:
    print(
        json.dumps(
            {
                name: {split: rows.num_rows for split, rows in load_dataset(folder, name, cache_dir=cache).items()}
                for name in get_dataset_config_names(folder)
            }
        )
    )
