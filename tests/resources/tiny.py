"""Models of the paper's own kinds, a few kilobytes each, with random weights: no hub is asked.

The real libraries write them, so that the adapters read what they would read of the released ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

WORDS = ["a red cup", "she pours milk into the white cup", "Represent the user's input.", "."]
_SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}"
    "{% else %}<|vision_start|><|{{ part.type }}_pad|><|vision_end|>{% endif %}{% endfor %}"
    "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class Tiny:
    """Builds each model once, under a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = cache(self._make)

    def __call__(self, kind: str) -> str:
        """Path of a model: a weights file or a folder, as the adapters take it."""
        return str(self._made(kind))

    def _make(self, kind: str) -> Path:
        import torch

        torch.manual_seed(7)
        makers: dict[str, Callable[[Path], Path]] = {
            "yolo": _yolo,
            "yoloe": _yoloe,
            "clip": _clip,
            "dinov2": _dinov2,
            "qwen3": _qwen3,
            "qwen3_vl": _qwen3_vl,
        }
        return makers[kind](self._folder / kind)


def _yolo(folder: Path) -> Path:
    from ultralytics import YOLO

    folder.mkdir(parents=True)
    model = YOLO("yolo26n.yaml", verbose=False)
    model.model.names[3] = "thing 3"
    head = model.model.model[-1]
    for branch in (*head.cv3, *head.one2one_cv3):
        # As sure of its boxes as a trained one, so that they are tracked.
        branch[-1].bias.data.fill_(0.5)
    model.save(folder / "yolo26n.pt")
    return folder / "yolo26n.pt"


def _yoloe(folder: Path) -> Path:
    """Prompt-free, as the released ones are: a vocabulary is fused into the head."""
    import torch
    from ultralytics import YOLOE

    names = [f"thing {number}" for number in range(24)]
    folder.mkdir(parents=True)
    prompted = YOLOE("yoloe-26n-seg.yaml", verbose=False).model.eval()
    prompted.set_classes(names, torch.nn.functional.normalize(torch.randn(1, 24, 512), dim=-1))
    head = prompted.model[-1]
    head.fuse(prompted.pe)
    branches = head.one2one_cv3 if head.end2end else head.cv3
    vocabulary = torch.nn.ModuleList(branch[-1] for branch in branches)
    free = YOLOE("yoloe-26n-seg.yaml", verbose=False)
    free.model.eval().set_vocab(vocabulary, names)
    free.save(folder / "yoloe-26n-seg-pf.pt")
    return folder / "yoloe-26n-seg-pf.pt"


def _clip(folder: Path) -> Path:
    from transformers import CLIPConfig, CLIPModel

    text = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "vocab_size": 64}
    seen = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "patch_size": 32}
    CLIPModel(
        CLIPConfig(
            text_config={**text, "num_attention_heads": 2, "projection_dim": 24},
            vision_config={**seen, "num_attention_heads": 2, "projection_dim": 24},
            projection_dim=24,
        )
    ).save_pretrained(folder)
    return folder


def _dinov2(folder: Path) -> Path:
    from transformers import Dinov2Config, Dinov2Model

    config = Dinov2Config(
        hidden_size=40, num_hidden_layers=2, num_attention_heads=2, image_size=70, patch_size=14
    )
    Dinov2Model(config).save_pretrained(folder)
    return folder


def _tokenizer(folder: Path, *, ends: bool) -> Any:
    """Byte-level, as Qwen's; ``ends`` appends the end of text, as Qwen3-Embedding's does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        WORDS,
        trainers.BpeTrainer(
            vocab_size=320,
            special_tokens=_SPECIAL,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    if ends:
        end = tokenizer.token_to_id("<|endoftext|>")
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", end)]
        )
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|im_end|>"
    )
    wrapped.save_pretrained(folder)
    return wrapped


_TEXT_MODEL = {
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 320,
}


def _qwen3(folder: Path) -> Path:
    from transformers import Qwen3Config, Qwen3Model

    _tokenizer(folder, ends=True)
    Qwen3Model(Qwen3Config(**_TEXT_MODEL)).save_pretrained(folder)
    return folder


def _qwen3_vl(folder: Path) -> Path:
    """With the head for generation, as the released weights have it."""
    from transformers import (
        Qwen2VLImageProcessor,
        Qwen3VLConfig,
        Qwen3VLForConditionalGeneration,
        Qwen3VLProcessor,
        Qwen3VLVideoProcessor,
    )

    tokenizer = _tokenizer(folder, ends=False)
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in _SPECIAL}
    config = Qwen3VLConfig(
        text_config={
            **_TEXT_MODEL,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10_000.0,
                "mrope_section": [4, 2, 2],
                "mrope_interleaved": True,
            },
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_heads": 2,
            "out_hidden_size": 64,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0, 1],
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    Qwen3VLForConditionalGeneration(config).save_pretrained(folder)
    Qwen3VLProcessor(
        image_processor=Qwen2VLImageProcessor(patch_size=16, merge_size=2),
        tokenizer=tokenizer,
        video_processor=Qwen3VLVideoProcessor(),
        chat_template=_TEMPLATE,
    ).save_pretrained(folder)
    return folder
