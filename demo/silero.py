# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The silero voice activity detector at 16 kHz as an ordinary module, for the weights of its TorchScript file."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

SAMPLES = 576  # 64 samples of context and 512 new ones
STATE = 128


class Spectrogram(nn.Module):
    """Magnitudes of a short-time Fourier transform, as one convolution with a fixed basis."""

    def __init__(self, window: int = 256, hop: int = 128) -> None:
        super().__init__()
        self.hop = hop
        self.padding = nn.ReflectionPad1d((0, 64))
        self.register_buffer("basis", torch.zeros(window + 2, 1, window))

    def forward(self, samples: torch.Tensor) -> torch.Tensor:
        transformed = F.conv1d(self.padding(samples).unsqueeze(1), self.basis, stride=self.hop)
        real, imaginary = transformed.chunk(2, dim=1)
        return torch.sqrt(real**2 + imaginary**2)


class SileroVad(nn.Module):
    """Probability of speech in one frame of samples, and the LSTM state for the next frame."""

    def __init__(self) -> None:
        super().__init__()
        self.spectrogram = Spectrogram()
        shapes = [(129, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1)]
        self.encoder = nn.Sequential(
            *(nn.Sequential(nn.Conv1d(i, o, 3, stride=stride, padding=1), nn.ReLU()) for i, o, stride in shapes)
        )
        self.lstm = nn.LSTMCell(STATE, STATE)
        self.decoder = nn.Sequential(nn.Dropout(0.1), nn.ReLU(), nn.Conv1d(STATE, 1, 1), nn.Sigmoid())

    def forward(self, samples: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Takes samples [batch, 576] and state [2, batch, 128]; returns probabilities [batch, 1] and the new state."""
        features = self.encoder(self.spectrogram(samples)).squeeze(-1)
        hidden, cell = self.lstm(features, (state[0], state[1]))
        speech = self.decoder(hidden.unsqueeze(-1))
        return speech.squeeze(1).mean(dim=1, keepdim=True), torch.stack([hidden, cell])


def load_script_weights(model: SileroVad, path: str) -> None:
    """Copies the 16 kHz weights of the TorchScript file into the model."""
    script = torch.jit.load(path, map_location="cpu").state_dict()
    renamed = {
        "spectrogram.basis": "stft.forward_basis_buffer",
        "decoder.2.weight": "decoder.decoder.2.weight",
        "decoder.2.bias": "decoder.decoder.2.bias",
    }
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        renamed[f"lstm.{name}"] = f"decoder.rnn.{name}"
    for layer in range(4):
        for name in ("weight", "bias"):
            renamed[f"encoder.{layer}.0.{name}"] = f"encoder.{layer}.reparam_conv.{name}"
    model.load_state_dict({name: script[f"_model.{source}"] for name, source in renamed.items()})
