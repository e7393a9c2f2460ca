"""The web platforms: ONNX Runtime Web and transformers.js in a page of a real browser."""
