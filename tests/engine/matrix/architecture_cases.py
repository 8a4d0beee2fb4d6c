# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Architectures of the transformers package, tiny and with random weights."""

from __future__ import annotations

from typing import Any

import torch
from cases import CASES, Case
from torch import nn

TEXT: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}
DECODER: dict[str, Any] = {**TEXT, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0, "use_cache": False}
GPT: dict[str, Any] = {
    "vocab_size": 64,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 64,
    "use_cache": False,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
IMAGES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "image_size": 16,
    "patch_size": 4,
}
SEQ2SEQ: dict[str, Any] = {
    "vocab_size": 64,
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
    "use_cache": False,
}
T5: dict[str, Any] = {
    "vocab_size": 64,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": 2,
    "num_heads": 4,
    "use_cache": False,
}


def ids(batch: int) -> tuple[Any, ...]:
    mask = torch.ones(batch, 7, dtype=torch.long)
    mask[0, 5:] = 0
    return ({"input_ids": torch.randint(1, 60, (batch, 7)), "attention_mask": mask},)


def pairs(batch: int) -> tuple[Any, ...]:
    return ({"input_ids": torch.randint(3, 60, (batch, 7)), "decoder_input_ids": torch.randint(3, 60, (batch, 5))},)


def pixels(size: int) -> Any:
    return lambda batch: ({"pixel_values": torch.randn(batch, 3, size, size)},)


def waves(batch: int) -> tuple[Any, ...]:
    return ({"input_values": torch.randn(batch, 400)},)


def spectra(batch: int) -> tuple[Any, ...]:
    return ({"input_features": torch.randn(batch, 8, 40), "decoder_input_ids": torch.randint(3, 60, (batch, 5))},)


def model(model_class: str, config_class: str, options: dict[str, Any]) -> nn.Module:
    import transformers

    config = getattr(transformers, config_class)(**options)
    config.return_dict = True
    return getattr(transformers, model_class)(config)


def architecture(
    name: str,
    options: dict[str, Any],
    inputs: Any = ids,
    model_class: str | None = None,
    config_class: str | None = None,
) -> None:
    made = (model_class or f"{name}Model", config_class or f"{name}Config", options)
    CASES.append(Case("architecture", name, lambda: model(*made), inputs, batches=(2, 3), keywords=True))


for encoder in ("Bert", "Roberta", "Electra", "XLMRoberta", "Camembert", "MPNet", "RoFormer", "Ernie"):
    architecture(encoder, TEXT)
architecture("Albert", {**TEXT, "embedding_size": 16})
architecture(
    "DistilBert",
    {"vocab_size": 64, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 64},
)
architecture("DebertaV2", {**TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]})
architecture(
    "Funnel", {"vocab_size": 64, "block_sizes": [1, 1], "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 64}
)
architecture("FNet", {**TEXT, "pad_token_id": 0}, lambda batch: ({"input_ids": torch.randint(1, 60, (batch, 7))},))
architecture(
    "ModernBert",
    {**TEXT, "pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2},
)

architecture("GPT2", GPT)
architecture("GPTJ", {**GPT, "rotary_dim": 4})
architecture(
    "GPTNeo",
    {**TEXT, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "use_cache": False},
)
architecture("GPTNeoX", {**TEXT, "use_cache": False})
architecture("OPT", {**TEXT, "ffn_dim": 64, "word_embed_proj_dim": 32, "use_cache": False})
architecture("Bloom", {"vocab_size": 64, "hidden_size": 32, "n_layer": 2, "n_head": 4, "use_cache": False})
architecture("Falcon", {**TEXT, "use_cache": False})
for decoder in (
    "Llama",
    "Mistral",
    "Qwen2",
    "Qwen3",
    "Gemma",
    "Gemma2",
    "Phi",
    "Phi3",
    "StableLm",
    "Starcoder2",
    "Cohere",
    "Olmo2",
    "Granite",
    "SmolLM3",
):
    architecture(decoder, DECODER)
architecture(
    "Gemma3Text", {**DECODER, "sliding_window": 4}, model_class="Gemma3TextModel", config_class="Gemma3TextConfig"
)
architecture("Mixtral", {**DECODER, "num_local_experts": 4, "num_experts_per_tok": 2})
architecture(
    "MixtralBatched",
    {**DECODER, "num_local_experts": 4, "num_experts_per_tok": 2, "experts_implementation": "batched_mm"},
    model_class="MixtralModel",
    config_class="MixtralConfig",
)
architecture(
    "Mamba",
    {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "use_cache": False},
    lambda batch: ({"input_ids": torch.randint(1, 60, (batch, 7))},),
)

architecture("T5", T5, pairs)
architecture("T5Encoder", T5, ids, "T5EncoderModel", "T5Config")
for both in ("Bart", "MBart", "Pegasus", "M2M100"):
    architecture(both, SEQ2SEQ, pairs)
architecture("Marian", {**SEQ2SEQ, "pad_token_id": 0, "decoder_start_token_id": 0}, pairs)

for vision in ("ViT", "DeiT", "Beit", "Dinov2"):
    architecture(vision, IMAGES, pixels(16))
architecture("CLIPVision", IMAGES, pixels(16), "CLIPVisionModel", "CLIPVisionConfig")
architecture("SiglipVision", IMAGES, pixels(16), "SiglipVisionModel", "SiglipVisionConfig")
architecture("CLIPText", {**TEXT, "bos_token_id": 1, "eos_token_id": 2}, ids, "CLIPTextModel", "CLIPTextConfig")
architecture(
    "Swin",
    {"image_size": 16, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4},
    pixels(16),
)
architecture(
    "ConvNext",
    {"num_channels": 3, "hidden_sizes": [8, 16], "depths": [1, 1], "patch_size": 2, "num_stages": 2},
    pixels(16),
)
architecture(
    "ResNet", {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}, pixels(16)
)
architecture("MobileNetV2", {"depth_multiplier": 0.25, "image_size": 32}, pixels(32))
architecture(
    "Segformer",
    {
        "num_encoder_blocks": 2,
        "depths": [1, 1],
        "sr_ratios": [2, 1],
        "hidden_sizes": [8, 16],
        "patch_sizes": [3, 3],
        "strides": [2, 2],
        "num_attention_heads": [1, 2],
        "mlp_ratios": [2, 2],
        "decoder_hidden_size": 16,
    },
    pixels(16),
)
architecture(
    "Wav2Vec2",
    {
        **TEXT,
        "conv_dim": (8, 8),
        "conv_kernel": (4, 4),
        "conv_stride": (4, 4),
        "num_conv_pos_embeddings": 4,
        "num_conv_pos_embedding_groups": 2,
        "num_feat_extract_layers": 2,
        "mask_time_prob": 0.0,
    },
    waves,
)
architecture(
    "Whisper",
    {
        **SEQ2SEQ,
        "num_mel_bins": 8,
        "max_source_positions": 20,
        "max_target_positions": 20,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 1,
        "mask_time_prob": 0.0,
    },
    spectra,
)
