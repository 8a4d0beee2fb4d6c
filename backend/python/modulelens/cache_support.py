# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Key-value caches of transformers as containers that torch.export can take apart. For processes of our own alone."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from torch.utils import _pytree as pytree

_PARTS = ["self_attention_cache", "cross_attention_cache"]


def register_caches() -> None:
    """Registers the caches of an imported transformers. Not for a traced job: it changes what pytrees are."""
    if "transformers" not in sys.modules:
        return
    with contextlib.suppress(ImportError, AttributeError):
        from transformers.integrations.executorch import register_dynamic_cache_export_support

        register_dynamic_cache_export_support()  # type: ignore[no-untyped-call,unused-ignore]
    with contextlib.suppress(ImportError, AttributeError):
        from transformers.cache_utils import EncoderDecoderCache

        if EncoderDecoderCache not in pytree.SUPPORTED_NODES:
            pytree.register_pytree_node(
                EncoderDecoderCache,
                lambda cache: ([getattr(cache, part) for part in _PARTS], list(_PARTS)),
                lambda children, _: _joined(EncoderDecoderCache, children),
                serialized_type_name="transformers.cache_utils.EncoderDecoderCache",
            )


def _joined(kind: Any, children: Any) -> Any:
    return kind(*children)
