"""Recipes of transformers' models: made for a type or a checkpoint, read from a config.json or an ONNX file, taken over
from another release."""
