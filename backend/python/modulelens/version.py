# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The version of this package, as bundles record it."""

__version__ = "0.1.0"
