# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""`python -m modulelens COMMAND ...`: what is done with captures in Python, outside the traced process."""

from __future__ import annotations

import importlib
import sys

# Command -> where its `main(arguments) -> exit code` stands, and what it does. Imported only when it is asked for.
_COMMANDS = {
    "worker": ("modulelens.worker.main", "speak the worker protocol on standard input and output"),
    "merge": ("modulelens.distributed.merge_command", "put the bundles of all ranks together into one"),
    "publish": ("modulelens.wandb_store", "publish captures to a W&B registry with the wandb SDK"),
    "export": ("modulelens.offline_export", "add programs to captures, from modules rebuilt here"),
}


def main(arguments: list[str]) -> int:
    """Runs the command named first with the other arguments and returns its exit code."""
    if arguments and arguments[0] in _COMMANDS:
        module, _ = _COMMANDS[arguments[0]]
        return int(importlib.import_module(module).main(arguments[1:]))
    lines = [f"  {name:<10}{purpose}" for name, (_, purpose) in _COMMANDS.items()]
    text = "\n".join(["Usage: python -m modulelens COMMAND [ARGUMENTS]", "", "Commands:", *lines])
    if arguments and arguments[0] in ("-h", "--help"):
        print(text)
        return 0
    print(text, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
