// A device of torch's plug-in kind (PrivateUse1) for tests: its memory is the host's, taken and given back by an
// allocator that counts, and whatever it does not compute itself torch computes on the CPU and copies back.
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/set_cpu_dispatch.h>
#include <ATen/ops/view_cpu_dispatch.h>
#include <ATen/ops/_reshape_alias_cpu_dispatch.h>
#include <ATen/ops/unfold_cpu_dispatch.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <atomic>
#include <cstdlib>

namespace {

constexpr auto kShelf = c10::DeviceType::PrivateUse1;
std::atomic<int64_t> held{0}, most{0};

struct Counted {
  void* data;
  int64_t bytes;
};

void give_back(void* p) {
  auto* c = static_cast<Counted*>(p);
  held -= c->bytes;
  std::free(c->data);
  delete c;
}

struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override {
    auto* c = new Counted{n ? std::malloc(n) : nullptr, static_cast<int64_t>(n)};
    int64_t now = held += c->bytes, seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    return {c->data, c, &give_back, c10::Device(kShelf, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t n) const override { default_copy_data(to, from, n); }
};
Allocator allocator;
REGISTER_ALLOCATOR(kShelf, &allocator);

struct Guard final : c10::impl::DeviceGuardImplInterface {
  Guard() = default;
  explicit Guard(c10::DeviceType) {}
  c10::DeviceType type() const override { return kShelf; }
  c10::Device exchangeDevice(c10::Device d) const override { return {kShelf, 0}; }
  c10::Device getDevice() const override { return {kShelf, 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device d) const override { return c10::Stream(c10::Stream::DEFAULT, {kShelf, 0}); }
  c10::Stream exchangeStream(c10::Stream s) const override { return getStream(s.device()); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Hooks final : at::PrivateUse1HooksInterface {
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  void init() const override {}
  void resizePrivateUse1Bytes(const c10::Storage& s, size_t n) const override {
    auto fresh = allocator.allocate(n);
    std::memcpy(fresh.get(), s.data(), std::min(n, s.nbytes()));
    s.unsafeGetStorageImpl()->set_data_ptr(std::move(fresh));
    s.unsafeGetStorageImpl()->set_nbytes(n);
  }
};

at::Tensor empty(c10::SymIntArrayRef size, std::optional<c10::ScalarType> t, std::optional<c10::Layout>,
                 std::optional<c10::Device>, std::optional<bool>, std::optional<c10::MemoryFormat> f) {
  auto sizes = C10_AS_INTARRAYREF_SLOW(size);
  return at::detail::empty_generic(sizes, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(t), f);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<c10::ScalarType> t,
                         std::optional<c10::Layout>, std::optional<c10::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &allocator,
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(t));
}

// The same bytes as a tensor of the CPU: this device's memory is the host's.
at::Tensor seen(const at::Tensor& t) {
  if (t.device().is_cpu()) return t;
  return at::from_blob(t.data_ptr(), t.sizes(), t.strides(), t.options().device(c10::kCPU));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  seen(to).copy_(seen(from));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  to.resize_(from.sizes());
  return copy_from(from, to, false);
}

at::Scalar local_scalar(const at::Tensor& t) { return seen(t).item(); }

at::Tensor as_strided(const at::Tensor& t, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                      std::optional<c10::SymInt> offset) {
  return at::cpu::as_strided_symint(t, size, stride, offset);
}
at::Tensor view(const at::Tensor& t, c10::SymIntArrayRef size) { return at::cpu::view_symint(t, size); }
at::Tensor reshape_alias(const at::Tensor& t, c10::SymIntArrayRef size, c10::SymIntArrayRef stride) {
  return at::cpu::_reshape_alias_symint(t, size, stride);
}

const at::Tensor& resize(const at::Tensor& t, c10::SymIntArrayRef size, std::optional<c10::MemoryFormat>) {
  auto sizes = C10_AS_INTARRAYREF_SLOW(size);
  auto* impl = t.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(sizes);
  const size_t need = (t.numel() + t.storage_offset()) * t.itemsize();
  if (need > t.storage().nbytes()) Hooks().resizePrivateUse1Bytes(t.storage(), need);
  return t;
}

at::Tensor& set_storage(at::Tensor& t, at::Storage s, c10::SymInt offset, c10::SymIntArrayRef size,
                        c10::SymIntArrayRef stride) {
  return at::cpu::set__symint(t, s, offset, size, stride);
}

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) { at::native::cpu_fallback(op, stack); }

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_local_scalar_dense", local_scalar);
  m.impl("as_strided", as_strided);
  m.impl("view", view);
  m.impl("_reshape_alias", reshape_alias);
  m.impl("resize_", resize);
  m.impl("set_.source_Storage_storage_offset", set_storage);
}

struct Registered {
  Registered() { at::RegisterPrivateUse1HooksInterface(new Hooks()); }
} registered;

}  // namespace

extern "C" int64_t shelf_held() { return held; }
extern "C" int64_t shelf_most() { return most; }
extern "C" void shelf_forget() { most = held.load(); }
