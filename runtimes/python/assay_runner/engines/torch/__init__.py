"""Torch itself: the model as it is, on the CPU or on a device that torch reaches."""
