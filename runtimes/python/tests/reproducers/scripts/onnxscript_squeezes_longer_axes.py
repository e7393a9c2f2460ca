"""torch's squeeze of an axis that is not one changes nothing. And once it is exported?"""

import numpy as np
import onnxruntime
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.squeeze(0).exp()


program = torch.onnx.export(Model(), (torch.ones(2, 3),), dynamo=True, verbose=False)
try:
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    print(session.run(None, {"x": np.ones((2, 3), np.float32)})[0].shape)
    print("gone")
except Exception as error:
    print(str(error)[:160])
    print("shows")
