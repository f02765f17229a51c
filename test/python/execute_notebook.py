"""Executes a notebook and prints the texts and the HTML of its outputs as JSON: execute_notebook.py <file>."""

import json
import sys

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
outputs = [cell.get("outputs", []) for cell in notebook.cells if cell.cell_type == "code"]
print(json.dumps([[output.get("data", {}) for output in each] for each in outputs]))
