# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Checks that hold the architecture: each module has `check(project) -> list[str]`, one sentence per violation."""
