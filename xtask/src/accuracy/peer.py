"""Greedy translation with CTranslate2, one phrase a call, on one thread.

Arguments: a MarianMT checkpoint (config.json, vocab.json, model.safetensors in float32), and a JSON file with
`sources` (lists of ids), `max_tokens` and `type` (CTranslate2's compute type). Prints a JSON object: `version`, and for
each phrase its `ids` without the end of sentence and the `seconds` of its call.

The checkpoint is converted here, weight by weight, so that nothing but CTranslate2 (and numpy, which it needs) has to
be installed.
"""

import json
import pathlib
import sys
import tempfile
import time

import ctranslate2
import numpy as np
from ctranslate2.converters.converter import Converter
from ctranslate2.specs import TransformerSpec, common_spec

ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "silu": common_spec.Activation.SWISH,
    "swish": common_spec.Activation.SWISH,
}


def read_tensors(path):
    """Tensors of a safetensors file: a length, a JSON header, the data."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            sys.exit(f"{path.name}: {name} is {entry['dtype']}: the comparison needs a float32 checkpoint")
        first, last = (start + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[first:last], np.float32).reshape(entry["shape"]).copy()
    return tensors


def sinusoids(positions, width):
    """Marian's: sines in the first half, cosines in the second."""
    angles = np.arange(positions)[:, None] / 10000 ** (2 * np.arange(width // 2) / width)[None, :]
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


class Marian(Converter):
    """A checkpoint folder as CTranslate2's specification."""

    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        ids = json.loads((folder / "vocab.json").read_text())
        self.pieces = [piece for piece, _ in sorted(ids.items(), key=lambda entry: entry[1])]
        self.tensors = read_tensors(folder / "model.safetensors")

    def _load(self):
        config = self.config
        spec = TransformerSpec.from_config(
            (config["encoder_layers"], config["decoder_layers"]),
            config["encoder_attention_heads"],
            pre_norm=False,
            activation=ACTIVATIONS[config["activation_function"]],
        )
        positions = sinusoids(config["max_position_embeddings"], config["d_model"])
        shared = self.tensors["model.shared.weight"]
        for side in (spec.encoder, spec.decoder):
            side.scale_embeddings = config["scale_embedding"]
            side.position_encodings.encodings = positions
        spec.encoder.embeddings[0].weight = shared
        spec.decoder.embeddings.weight = shared
        spec.decoder.projection.weight = shared
        bias = self.tensors["final_logits_bias"].reshape(-1).copy()
        # Padding is never produced.
        bias[config["pad_token_id"]] = -1e9
        spec.decoder.projection.bias = bias
        for index, layer in enumerate(spec.encoder.layer):
            self.layer(layer, f"model.encoder.layers.{index}")
        for index, layer in enumerate(spec.decoder.layer):
            name = f"model.decoder.layers.{index}"
            self.layer(layer, name)
            self.join(layer.attention.linear[0], f"{name}.encoder_attn", ["q_proj"])
            self.join(layer.attention.linear[1], f"{name}.encoder_attn", ["k_proj", "v_proj"])
            self.join(layer.attention.linear[2], f"{name}.encoder_attn", ["out_proj"])
            self.norm(layer.attention.layer_norm, f"{name}.encoder_attn_layer_norm")
        spec.register_source_vocabulary(self.pieces)
        spec.register_target_vocabulary(self.pieces)
        spec.config.decoder_start_token = self.pieces[config["decoder_start_token_id"]]
        spec.config.eos_token = self.pieces[config["eos_token_id"]]
        spec.config.layer_norm_epsilon = 1e-5
        return spec

    def layer(self, layer, name):
        self.join(layer.self_attention.linear[0], f"{name}.self_attn", ["q_proj", "k_proj", "v_proj"])
        self.join(layer.self_attention.linear[1], f"{name}.self_attn", ["out_proj"])
        self.norm(layer.self_attention.layer_norm, f"{name}.self_attn_layer_norm")
        self.join(layer.ffn.linear_0, name, ["fc1"])
        self.join(layer.ffn.linear_1, name, ["fc2"])
        self.norm(layer.ffn.layer_norm, f"{name}.final_layer_norm")

    def join(self, linear, name, parts):
        """Linears with one input, as one."""
        of = lambda kind: np.concatenate([self.tensors[f"{name}.{part}.{kind}"] for part in parts])
        linear.weight, linear.bias = of("weight"), of("bias")

    def norm(self, norm, name):
        norm.gamma, norm.beta = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]


def main():
    folder, job = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text())
    marian = Marian(folder)
    ids = {piece: number for number, piece in enumerate(marian.pieces)}
    sources = [[marian.pieces[number] for number in source] for source in job["sources"]]
    kind = job["type"]
    outputs, seconds = [], []
    with tempfile.TemporaryDirectory() as converted:
        marian.convert(converted, quantization=None if kind == "float32" else kind, force=True)
        translator = ctranslate2.Translator(converted, compute_type=kind, inter_threads=1, intra_threads=1)
        for source in sources:
            start = time.perf_counter()
            result = translator.translate_batch([source], beam_size=1, max_decoding_length=job["max_tokens"])
            seconds.append(time.perf_counter() - start)
            outputs.append([ids[piece] for piece in result[0].hypotheses[0]])
    print(json.dumps({"version": ctranslate2.__version__, "ids": outputs, "seconds": seconds}))


main()
