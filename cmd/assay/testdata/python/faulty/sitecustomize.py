"""A processor that announces what it cannot execute: products in bf16 end the process by SIGILL, unless oneDNN is kept
from newer instructions. With ASSAY_TEST_FAULTY=late only those of models do, so that no trial notices.
"""

import importlib.abc
import importlib.machinery
import os
import signal
import sys


class Faulty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name != "torch.nn.functional":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        self.real, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return self.real.create_module(spec)

    def exec_module(self, module):
        self.real.exec_module(module)
        linear, when = module.linear, os.environ.get("ASSAY_TEST_FAULTY", "always")
        if when not in ("always", "late"):
            raise ValueError(f"ASSAY_TEST_FAULTY={when} is neither always nor late")

        def dying(given, *args, **kwargs):
            hidden = when == "late" and "transformers" not in sys.modules
            if str(given.dtype) == "torch.bfloat16" and not hidden and not os.environ.get("ONEDNN_MAX_CPU_ISA"):
                os.kill(os.getpid(), signal.SIGILL)
            return linear(given, *args, **kwargs)

        module.linear = dying


sys.meta_path.insert(0, Faulty())
