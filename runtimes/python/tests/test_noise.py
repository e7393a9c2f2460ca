"""Noise comes from the CPU's generator, whichever device and dtype a model asks for it in.

No GPU is needed: a mode pretends that a device exists, with numbers of its own for every seed, as CUDA has.
"""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from assay_runner.checking import noise, reference
from assay_runner.engines.torch import checks, engine
from assay_runner.subjects.programs.building import Built

THERE = torch.device("meta")  # any device that torch takes without a driver
PROBABILITIES = torch.tensor([[0.1, 0.2, 0.3, 0.4]])


class Held(torch.Tensor):
    """A tensor on the pretended device."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=THERE
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(f"{func} is run without the pretended device")


class Pretended(TorchDispatchMode):
    """Inside, the device is there. Its random numbers are its own, and it remembers who asked for them."""

    def __init__(self):
        super().__init__()
        self.drawn = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        values = [*args, *(kwargs or {}).values()]
        asked = [value for value in values if isinstance(value, torch.device)]
        there = THERE in asked if asked else any(isinstance(value, Held) for value in values)
        inner_args, inner_kwargs = tree_map(_inner, (args, kwargs or {}))
        if there and torch.Tag.nondeterministic_seeded in func.tags:
            self.drawn.append(func.overloadpacket)
            torch.rand(5)  # as good as another generator
        out = func(*inner_args, **inner_kwargs)
        if there and args and isinstance(args[0], Held) and out is args[0].inner:
            return args[0]
        return tree_map(lambda v: Held(v) if isinstance(v, torch.Tensor) and there else v, out)


def _inner(value):
    if isinstance(value, Held):
        return value.inner
    return torch.device("cpu") if isinstance(value, torch.device) else value


def all_kinds(x, probabilities):
    """Every way to ask for noise, as a model does it: on the device and in the dtype of what it was given."""
    at = {"device": x.device, "dtype": x.dtype}
    shape = tuple(x.shape)
    filled = [
        getattr(torch.empty(shape, **at), name)(*given)
        for name, given in {
            "uniform_": (), "normal_": (), "exponential_": (), "log_normal_": (), "cauchy_": (), "geometric_": (0.3,),
            "random_": (0, 9), "bernoulli_": (0.5,),
        }.items()
    ]  # fmt: skip
    return [
        torch.rand(shape, **at),
        torch.randn(shape, **at),
        torch.rand(shape, device=x.device),
        torch.rand_like(x),
        torch.randn_like(x),
        torch.randint(0, 99, shape, device=x.device),
        torch.randint_like(x, 99),
        torch.randperm(9, device=x.device),
        torch.normal(0.0, 2.0, shape, **at),
        torch.normal(x, 2.0),
        torch.normal(1.0, x.abs()),
        torch.normal(x, x.abs()),
        torch.bernoulli(probabilities),
        torch.empty(shape, **at).bernoulli_(probabilities.expand(shape)),
        torch.multinomial(probabilities, 2),
        torch.poisson(probabilities),
        *filled,
    ]


def seeded(draw, *args):
    torch.manual_seed(7)
    return draw(*args)


def on_the_device(draw, own, wide):
    """What is drawn there, moved back, and by which operators the device itself drew."""
    with Pretended() as device:
        placed = [t.to(own).to(THERE) for t in (torch.ones(3, 4), PROBABILITIES)]
        with noise.Drawn(own, wide):
            drawn = seeded(draw, *placed)
        assert {t.device for t in drawn} == {THERE}
        return [t.to("cpu") for t in drawn], device.drawn


@pytest.mark.parametrize("own", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_device_gets_the_noise_of_the_cpu(own):
    with noise.Drawn(own, torch.float32):
        expected = seeded(all_kinds, torch.ones(3, 4), PROBABILITIES)
    found, by_itself = on_the_device(all_kinds, own, torch.float32)
    assert by_itself == []
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        rounded = 0.0 if own is torch.float32 else 4 * torch.finfo(own).eps  # of what is computed from the noise
        assert torch.allclose(a.to(b.dtype), b, rtol=rounded, atol=rounded), f"the {i}th kind"


def test_without_it_a_device_draws_by_itself():
    """Or the test above would say nothing."""
    expected = seeded(all_kinds, torch.ones(3, 4), PROBABILITIES)
    with Pretended() as device:
        placed = [t.to(THERE) for t in (torch.ones(3, 4), PROBABILITIES)]
        found = [t.to("cpu") for t in seeded(all_kinds, *placed)]
    assert len(device.drawn) == len(found)
    fine = [(a, b) for a, b in zip(found, expected, strict=True) if len(a.unique()) > 9]
    assert len(fine) > 9 and not any(torch.equal(a, b) for a, b in fine)


def test_on_the_cpu_it_changes_nothing():
    plain = seeded(all_kinds, torch.ones(3, 4), PROBABILITIES)
    with noise.Drawn(torch.float32, torch.float64):
        drawn = seeded(all_kinds, torch.ones(3, 4), PROBABILITIES)
    assert all(torch.equal(a, b) and a.dtype is b.dtype for a, b in zip(plain, drawn, strict=True))


def test_a_reference_in_float64_sees_the_noise_of_float32():
    plain = seeded(all_kinds, torch.ones(3, 4), PROBABILITIES)
    with noise.Drawn(torch.float32, torch.float64):
        wide = seeded(all_kinds, torch.ones(3, 4, dtype=torch.float64), PROBABILITIES.double())
    for i, (a, b) in enumerate(zip(plain, wide, strict=True)):
        assert torch.allclose(a.double(), b.double(), rtol=1e-6), f"the {i}th kind"


def test_numbers_without_a_dtype_stay_fine():
    """A mask by the order of 500 numbers in 16 bits would be one of ties."""
    with noise.Drawn(torch.bfloat16, torch.float32):
        narrow = seeded(torch.rand, 500)
        torch.set_default_dtype(torch.float64)
        try:
            wide = seeded(torch.rand, 500)
        finally:
            torch.set_default_dtype(torch.float32)
    assert torch.equal(narrow, seeded(torch.rand, 500)) and torch.equal(narrow.double(), wide)


def test_what_is_drawn_into_a_tensor():
    def into(x, probabilities):
        out = [torch.empty_like(x) for _ in range(3)]
        torch.rand(x.shape, out=out[0])
        torch.normal(x, x, out=out[1])
        torch.bernoulli(probabilities.expand(x.shape), out=out[2])
        return out

    with noise.Drawn(torch.float32, torch.float32):
        expected = seeded(into, torch.ones(3, 4), PROBABILITIES)
    found, by_itself = on_the_device(into, torch.float32, torch.float32)
    assert by_itself == [] and all(map(torch.equal, found, expected))


def test_a_generator_of_a_device_has_a_twin():
    class Theirs(torch.Generator):
        device = THERE

    theirs = Theirs()
    theirs.manual_seed(11)
    torch.rand(3, generator=theirs)  # its state is its own: of the same seed other numbers would come
    drawn, asked = noise.Drawn(torch.float32, torch.float32), torch.ops.aten.rand.generator
    found = [drawn.__torch_dispatch__(asked, (), ([4],), {"generator": theirs}) for _ in range(2)]
    ours = torch.Generator().manual_seed(11)
    assert all(torch.equal(a, torch.rand(4, generator=ours)) for a in found)


# Operators that torch calls random and that draw nothing where nothing is trained: attention, recurrent layers and
# dropout without dropout, leaky units of a fixed slope.
QUIET = ("attention", "dropout", "rnn", "gru", "lstm", "rrelu", "sdp_choice", "softmax_with_shape")


def test_no_random_operator_is_forgotten():
    known, forgotten = {packet.__name__ for packet in noise.RANDOM}, set()
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        if space != "aten" or packet in known or any(word in packet for word in QUIET):
            continue
        if torch.Tag.nondeterministic_seeded in getattr(getattr(torch.ops.aten, packet), overload or "default").tags:
            forgotten.add(packet)
    assert forgotten == set()


class Noisy(nn.Module):
    """A model that masks at random, as ViT-MAE does."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        kept = torch.rand(x.shape, device=x.device) < 0.5
        return {"y": self.layer(x * kept) + torch.randn_like(x)}


class Session(engine.Session):
    """A session without a job: what is of interest is where its model draws."""

    def __init__(self, dtype, cpu):
        self.seed, self.recipe, self.dtype = 5, {}, dtype
        methods = {"synchronize": lambda self: None, "inference": lambda self: torch.inference_mode()}
        self.device = type("Device", (), {"cpu": cpu, **methods})()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_check_on_a_device_is_about_the_noise_of_its_reference(dtype):
    torch.manual_seed(1)
    session, built = Session(dtype, cpu=False), Built(Noisy().eval().to(dtype), 72, None, {})
    x = {"x": torch.ones(4, 8, dtype=dtype)}
    known = reference.compute(built, session.narrow, [x], session.forward, lambda other: None, None)
    with Pretended() as device:
        layer = built.model.layer
        for name, parameter in list(layer.named_parameters()):
            setattr(layer, name, nn.Parameter(Held(parameter.data), requires_grad=False))
        placed = {"x": x["x"].to(THERE)}
        seen, _ = checks._run(session, built, placed)
        counted = checks._census(session, built, placed)
        found = {name: t.to("cpu") for name, t in seen.items()}
    assert device.drawn == []
    assert torch.allclose(found["y"].float(), known.outputs[0]["y"], atol=3e-2)
    assert set(counted["nodes"]) == {str(THERE)}


def test_the_cpu_in_float32_is_without():
    model = Noisy()
    assert not isinstance(Session(torch.float32, cpu=True).drawing(model), TorchDispatchMode)
    assert isinstance(Session(torch.bfloat16, cpu=True).drawing(model), noise.Drawn)
