"""ONNX Runtime, and the sessions that every engine on top of it shares."""
