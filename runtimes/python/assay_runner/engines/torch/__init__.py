"""Torch itself: the unchanged model, on the CPU or on a device that torch reaches."""
