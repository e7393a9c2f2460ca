"""A module that converts its layer to the dtype that the layer has."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.layer.to(torch.float32)(x)


try:
    torch.export.export(Model(), (torch.ones(1, 2),), strict=False)
    print("gone")
except Exception as error:
    print(f"{type(error).__name__}: {str(error).splitlines()[0][:160]}")
    print("shows")
