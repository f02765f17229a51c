"""The helpers of the published evaluation. Their module imports packages that only other parts of it need."""

import sys
from types import ModuleType
from unittest.mock import MagicMock

NOT_INSTALLED = ("tree_sitter", "tree_sitter_java", "tree_sitter_javascript", "tenacity")


def published_helpers() -> ModuleType:
    for name in NOT_INSTALLED:
        sys.modules.setdefault(name, MagicMock())
    from bfcl_eval.model_handler import utils

    return utils  # type: ignore[no-any-return]
