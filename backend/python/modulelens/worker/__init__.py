# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The Python worker: rebuilds captured modules from their classes and runs, checks and measures them."""
