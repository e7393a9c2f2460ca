"""Core ML: programs of torch.export, converted by coremltools and run on macOS."""
