"""Registers the device under a name, with the module that torch's devices have."""

import ctypes
import sys
import types

import torch


def register(library, name):
    """Loads the library, and makes its device torch.NAME."""
    shelf = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    for counter in (shelf.shelf_held, shelf.shelf_most):
        counter.restype = ctypes.c_int64
    torch.utils.rename_privateuse1_backend(name)
    module = types.ModuleType(f"torch.{name}")
    module.is_available = lambda: True
    module.device_count = lambda: 1
    module.current_device = lambda: 0
    module.set_device = lambda device: None
    module.get_device_name = lambda device=None: "shelf"
    module.synchronize = lambda device=None: None
    module.empty_cache = lambda: None
    module.manual_seed_all = lambda seed: None
    module._is_in_bad_fork = lambda: False
    module.memory_allocated = lambda device=None: shelf.shelf_held()
    module.max_memory_allocated = lambda device=None: shelf.shelf_most()
    module.reset_peak_memory_stats = lambda device=None: shelf.shelf_forget()
    module.mem_get_info = lambda device=None: ((1 << 30) - shelf.shelf_held(), 1 << 30)
    torch._register_device_module(name, module)
    torch.utils.generate_methods_for_privateuse1_backend()
    sys.modules[f"torch.{name}"] = module
    return module
