"""An antialiased resize to two rows and one column, of the same numbers in two memory formats."""

import numpy as np
import torch
from PIL import Image
from torch.nn.functional import interpolate

torch.manual_seed(0)
x, off = torch.randn(1, 1, 8, 8).repeat(1, 2, 1, 1), []
formats = {"contiguous": torch.contiguous_format, "channels last": torch.channels_last}
for mode in ("bilinear", "bicubic"):
    by_pillow = np.array(Image.fromarray(x[0, 0].numpy()).resize((1, 2), Image.Resampling[mode.upper()])).ravel()
    print(f"{mode}, Pillow: {by_pillow.astype(float).round(3).tolist()}")
    for name, format in formats.items():
        found = interpolate(x.contiguous(memory_format=format), (2, 1), mode=mode, antialias=True)[0, 0, :, 0].numpy()
        off.append(np.abs(found - by_pillow).max())
        print(f"{mode}, torch, {name}: {found.astype(float).round(3).tolist()}, off by {off[-1]:.2g}")
print("shows" if max(off) > 1e-3 else "gone")
