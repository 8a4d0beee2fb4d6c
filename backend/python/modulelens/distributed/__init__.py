# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Capture of models that are spread over ranks: one adapter a kind of wrapper, and the merge of what the ranks kept.

Nothing on the traced path communicates: every rank keeps the parts that it holds, and they are put together afterwards.
"""
