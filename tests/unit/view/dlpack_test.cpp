// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstddef> // offsetof
#include <cstring>

#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>
#include <ragged/plan/unequal_plan.hpp>
#include <ragged/view/dlpack.hpp>
#include <ragged/view/shard_view.hpp>
#include <ragged/view/slice_views.hpp>

#include "support/expect.hpp"

using Line = ragged::Topology<ragged::Axis<"shard">>;
using Place = ragged::Place<Line>;
using Tensor = ragged::dlpack::DLManagedTensorVersioned;
using support::contains;
using support::message_of;
namespace state = ragged::state;

namespace {

// The layout that other libraries were compiled with.
static_assert(offsetof(Tensor, manager_ctx) == 8 && offsetof(Tensor, deleter) == 16);
static_assert(offsetof(Tensor, flags) == 24 && offsetof(Tensor, dl_tensor) == 32);
static_assert(sizeof(Tensor) == 80);

constexpr auto layer = ragged::Group{ragged::Tensor{"w", {2, 3, 4}}, ragged::Tensor{"b", {5}},
                                     ragged::Tensor{"empty", {0, 7}}, ragged::Tensor{"scalar", {}}};
constexpr auto constant = ragged::plan<layer>(2);

template <class T, class State = state::Partial, class PlanType = ragged::Plan>
using Buffer = ragged::DBuffer<T, Line, State, PlanType>;

/// A tensor of another library, as a test wants it, that counts the calls of its deleter.
struct Foreign {
    alignas(128) float before[32] = {};
    float values[64] = {};
    std::vector<std::int64_t> shape{4, 3};
    std::vector<std::int64_t> strides{3, 1};
    int released = 0;
    Tensor tensor{};

    Foreign() {
        tensor.version = {1, 0};
        tensor.manager_ctx = this;
        tensor.deleter = [](Tensor* self) { ++static_cast<Foreign*>(self->manager_ctx)->released; };
        tensor.dl_tensor = {values, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape.data(), strides.data(), 0};
    }
    Foreign(const Foreign&) = delete;

    void reshape(std::vector<std::int64_t> extents, std::vector<std::int64_t> steps) {
        shape = std::move(extents);
        strides = std::move(steps);
        tensor.dl_tensor.ndim = static_cast<int>(shape.size());
        tensor.dl_tensor.shape = shape.data();
        tensor.dl_tensor.strides = strides.data();
    }
    template <class T = float>
    std::string refusal() {
        return message_of([&] { static_cast<void>(ragged::from_dlpack<T>(&tensor)); });
    }
};

template <class T>
void check_export(std::uint8_t code) {
    CAPTURE(ragged::name(ragged::dtype_of<T>));
    const ragged::Plan plan = ragged::make_plan(layer.spec("layer"), 2, {}, {.planes = {ragged::DType::i8}});
    ragged::CountingResource<> memory;
    const auto buffer = std::make_shared<const Buffer<T>>(plan, Place(Line(2), 1), memory);
    const auto tensor = ragged::to_dlpack(buffer, "w");
    CHECK(tensor->version.major == 1);
    CHECK(tensor->version.minor == 1);
    CHECK(tensor->flags == 0);
    const DLTensor& found = tensor->dl_tensor;
    CHECK(found.dtype.code == code);
    CHECK(found.dtype.bits == 8 * sizeof(T));
    CHECK(found.dtype.lanes == 1);
    CHECK(found.device.device_type == kDLCPU);
    CHECK(found.device.device_id == 0);
    CHECK(found.data == ragged::view(*buffer, "w").data());
    CHECK(found.byte_offset == 0);
    CHECK(std::vector(found.shape, found.shape + found.ndim) == std::vector<std::int64_t>{2, 3, 4});
    CHECK(std::vector(found.strides, found.strides + found.ndim) == std::vector<std::int64_t>{12, 4, 1});
    CHECK(memory.allocations() == 1);
}

} // namespace

TEST_CASE("a tensor goes out at its own address, in every element type") {
    check_export<float>(kDLFloat);
    check_export<double>(kDLFloat);
    check_export<ragged::f16>(kDLFloat);
    check_export<ragged::bf16>(4);
    check_export<ragged::f8e4m3>(10);
    check_export<ragged::f8e5m2>(12);
    check_export<std::int8_t>(kDLInt);
    check_export<std::uint8_t>(kDLUInt);
}

TEST_CASE("tensors are taken by name, index or constant place; one without elements has no address") {
    const ragged::Plan plan = constant.plan("layer");
    ragged::HostResource memory;
    const auto buffer = std::make_shared<Buffer<float>>(plan, Place(Line(2), 0), memory);
    const void* w = ragged::view(*buffer, "w").data();
    CHECK(ragged::to_dlpack(buffer, 0)->dl_tensor.data == w);
    CHECK(ragged::to_dlpack(buffer, std::string("w"))->dl_tensor.data == w);
    const auto fixed = ragged::to_dlpack(buffer, constant.tensor<"w">());
    CHECK(fixed->dl_tensor.data == w);
    CHECK(fixed->dl_tensor.shape[2] == 4);
    CHECK(fixed->dl_tensor.strides[0] == 12);
    const auto b = ragged::to_dlpack(buffer, "b");
    CHECK(b->dl_tensor.data == ragged::view(*buffer, "b").data());
    CHECK(b->dl_tensor.data != w);

    const auto empty = ragged::to_dlpack(buffer, "empty");
    CHECK(empty->dl_tensor.data == nullptr);
    CHECK(empty->dl_tensor.shape[0] == 0);
    CHECK(empty->dl_tensor.strides != nullptr);
    const auto scalar = ragged::to_dlpack(buffer, "scalar");
    CHECK(scalar->dl_tensor.ndim == 0);
    CHECK(scalar->dl_tensor.data == ragged::view(*buffer, "scalar").data());
    CHECK(message_of([&] { ragged::to_dlpack(buffer, "v"); }) == "group 'layer' has no tensor 'v'");
}

TEST_CASE("slices of a stack go out one by one") {
    const ragged::GroupSpec group{"g", {{.name = "experts", .shape = {3, 5, 7}, .sliced = true}}};
    const ragged::Plan plan = ragged::make_plan(group, 2);
    ragged::HostResource memory;
    const auto buffer = std::make_shared<Buffer<float>>(plan, Place(Line(2), 0), memory);
    const auto slices = ragged::slices(*buffer, "experts");
    for (std::size_t slice = 0; slice < 3; ++slice) {
        const auto tensor = ragged::to_dlpack(buffer, slice);
        CHECK(tensor->dl_tensor.ndim == 2);
        CHECK(tensor->dl_tensor.data == slices.pointers()[slice]);
    }
    CHECK(message_of([&] { ragged::to_dlpack(buffer, "experts"); }) ==
          "group 'g': tensor 'experts' lies in 3 slices; ask for its slices");
}

TEST_CASE("a tensor of a device says which") {
    const ragged::Plan plan = constant.plan("layer");
    alignas(128) static float array[1024]; // nothing looks at the values
    const auto buffer = std::make_shared<Buffer<float>>(
        plan, Place(Line(2), 0),
        ragged::Memory::adopt(array, sizeof array, ragged::MemorySpace::of_device(3)));
    const auto tensor = ragged::to_dlpack(buffer, "w");
    CHECK(tensor->dl_tensor.device.device_type == kDLCUDA);
    CHECK(tensor->dl_tensor.device.device_id == 3);
    CHECK(ragged::from_dlpack<float>(ragged::to_dlpack(buffer, "w").release()).space() == buffer->space());
}

TEST_CASE("tensors that are out keep the buffer, each until its deleter is called") {
    ragged::CountingResource<> memory;
    ragged::dlpack::OwnedTensor w, b;
    {
        const ragged::Plan plan = constant.plan("layer"); // the tensors do without it
        auto buffer = std::make_shared<Buffer<float>>(plan, Place(Line(2), 0), memory);
        ragged::view(*buffer, "w")(1, 2, 3) = 7.0f;
        w = ragged::to_dlpack(buffer, "w");
        b = ragged::to_dlpack(std::move(buffer), "b");
    }
    CHECK(memory.live_bytes() > 0);
    CHECK(static_cast<float*>(w->dl_tensor.data)[23] == 7.0f);
    Tensor* handed = w.release();
    b.reset();
    CHECK(memory.live_bytes() > 0);
    handed->deleter(handed);
    CHECK(memory.live_bytes() == 0);
}

template <class PlanType>
void check_gathered(const PlanType& plan) {
    ragged::run_ranks(3, [&](ragged::LocalCommunicator world) {
        ragged::Mesh mesh(Line(3), world);
        ragged::HostResource memory;
        Buffer<float, state::Sharded, PlanType> sharded(plan, mesh, memory);
        const auto& tensor = plan.tensors[plan.index_of("w")];
        const ragged::Piece piece = piece_of(plan, tensor, sharded.shard_rank());
        for (std::int64_t i = 0; i < piece.elements; ++i)
            ragged::shard(sharded, "w")[i] = static_cast<float>(piece.first + i);
        auto gathered = ragged::gather(std::move(sharded), mesh).wait();
        const auto out = ragged::to_dlpack(std::make_shared<decltype(gathered)>(std::move(gathered)), "w");
        support::expect(out->flags == ragged::dlpack::read_only, "the values of all ranks are read only");
        const auto* values = static_cast<const float*>(out->dl_tensor.data);
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            support::expect(values[i] == static_cast<float>(i), "value of w");
    });
}

TEST_CASE("a gathered tensor goes out read only, from equal and from unequal regions") {
    const ragged::GroupSpec group{"g", {{"first", {5}}, {"w", {40, 9}, ragged::rows(3)}, {"last", {70}}}};
    check_gathered(ragged::make_plan(group, 3));
    check_gathered(ragged::make_unequal_plan(group, 3));
}

TEST_CASE("a tensor comes in as the memory of a buffer, and its deleter is called once, in the end") {
    const ragged::Plan plan = ragged::make_plan(ragged::GroupSpec{"g", {{"w", {8, 8}}}}, 1);
    Foreign foreign;
    foreign.reshape({1, 32, 2}, {99, 2, 1}); // the stride of an extent of 1 says nothing
    foreign.tensor.dl_tensor.data = foreign.before;
    foreign.tensor.dl_tensor.byte_offset = sizeof foreign.before;
    foreign.tensor.flags = ragged::dlpack::is_copied;
    foreign.values[63] = 7.0f;
    {
        auto memory = ragged::from_dlpack<float>(&foreign.tensor);
        CHECK(memory.data() == foreign.values);
        CHECK(memory.bytes() == 256);
        CHECK(memory.space() == ragged::host_space);
        Buffer<float> buffer(plan, Place(Line(1), 0), std::move(memory));
        CHECK(ragged::view(buffer, "w")(7, 7) == 7.0f);
        ragged::view(buffer, "w")(0, 0) = 3.0f;
        const Buffer<float> moved = std::move(buffer);
        CHECK(foreign.released == 0);
    }
    CHECK(foreign.released == 1);
    CHECK(foreign.values[0] == 3.0f);

    const ragged::Plan larger = ragged::make_plan(ragged::GroupSpec{"g", {{"w", {8, 40}}}}, 1);
    CHECK(contains(message_of([&] {
                       Buffer<float>(larger, Place(Line(1), 0), ragged::from_dlpack<float>(&foreign.tensor));
                   }),
                   "the adopted memory has 256 bytes"));
    CHECK(foreign.released == 2);
}

TEST_CASE("older producers leave strides and deleter out, and CUDA pins memory of the host") {
    Foreign foreign;
    foreign.tensor.dl_tensor.strides = nullptr;
    foreign.tensor.dl_tensor.device.device_type = kDLCUDAHost;
    foreign.tensor.deleter = nullptr;
    const auto memory = ragged::from_dlpack<float>(&foreign.tensor);
    CHECK(memory.data() == foreign.values);
    CHECK(memory.bytes() == 48);
    CHECK(memory.space() == ragged::host_space);
}

TEST_CASE("a tensor without elements is released at once") {
    Foreign foreign;
    foreign.reshape({4, 0}, {7, 7});
    foreign.tensor.dl_tensor.data = nullptr;
    foreign.tensor.dl_tensor.device = {kDLCUDA, 2};
    const auto memory = ragged::from_dlpack<float>(&foreign.tensor);
    CHECK(foreign.released == 1);
    CHECK(memory.data() == nullptr);
    CHECK(memory.bytes() == 0);
    CHECK(memory.space() == ragged::MemorySpace::of_device(2));
}

TEST_CASE("what a buffer cannot lie over is refused with found and wanted, and released once") {
    const auto refuses = [](const std::string& message, auto change) {
        Foreign foreign;
        change(foreign);
        CHECK(foreign.refusal() == message);
        CHECK(foreign.released == 1);
    };
    refuses("a DLPack tensor is read only (flags 3), wanted is one that a buffer may write",
            [](Foreign& f) { f.tensor.flags = 3; });
    refuses("a DLPack tensor of type code 2, 64 bits, 1 lanes, wanted is f32: code 2, 32 bits, 1 lanes",
            [](Foreign& f) { f.tensor.dl_tensor.dtype.bits = 64; });
    refuses("a DLPack tensor of type code 0, 32 bits, 1 lanes, wanted is f32: code 2, 32 bits, 1 lanes",
            [](Foreign& f) { f.tensor.dl_tensor.dtype.code = kDLInt; });
    refuses("a DLPack tensor of type code 2, 32 bits, 4 lanes, wanted is f32: code 2, 32 bits, 1 lanes",
            [](Foreign& f) { f.tensor.dl_tensor.dtype.lanes = 4; });
    refuses("a DLPack tensor of shape [4, 3] has strides [1, 4], wanted is [3, 1]: row-major without gaps",
            [](Foreign& f) {
                f.strides = {1, 4};
            });
    refuses("a DLPack tensor of shape [4, 3] has strides [8, 1], wanted is [3, 1]: row-major without gaps",
            [](Foreign& f) {
                f.strides = {8, 1};
            });
    refuses("a DLPack tensor of shape [4, -3]: extent -3 is negative", [](Foreign& f) { f.shape[1] = -3; });
    refuses("elements of a DLPack tensor: 4294967296 * 4294967296 does not fit 64 bits", [](Foreign& f) {
        f.shape = {std::int64_t{1} << 32, std::int64_t{1} << 32};
    });
    refuses("bytes of a DLPack tensor: 4611686018427387904 * 4 does not fit 64 bits",
            [](Foreign& f) { f.reshape({std::int64_t{1} << 62}, {1}); });
    refuses("a DLPack tensor of 12 elements has no data, wanted is an address",
            [](Foreign& f) { f.tensor.dl_tensor.data = nullptr; });
    for (const std::int32_t type : {7, 13, 18}) // Vulkan, managed by CUDA, one that a header may not know
        refuses(ragged::concat("a DLPack tensor is on a device of type ", type,
                               ", wanted is the host (1, or "
                               "3 where CUDA pins it) or CUDA (2)"),
                [&](Foreign& f) { std::memcpy(&f.tensor.dl_tensor.device.device_type, &type, sizeof type); });
    Foreign half;
    half.tensor.dl_tensor.dtype = {kDLFloat, 16, 1};
    CHECK(half.refusal<ragged::bf16>() ==
          "a DLPack tensor of type code 2, 16 bits, 1 lanes, wanted is bf16: code 4, 16 bits, 1 lanes");
}

TEST_CASE("of a tensor of another major version nothing is touched but its deleter") {
    static int released;
    for (const std::uint32_t major : {0u, 2u}) {
        released = 0;
        // What follows the deleter may lie in another order there, or not be there at all.
        struct Prefix {
            ragged::dlpack::DLPackVersion version;
            void* manager_ctx;
            void (*deleter)(Tensor*);
        };
        const auto prefix = std::make_unique<Prefix>(Prefix{
            {major, 7}, nullptr, [](Tensor*) { ++released; }}); // a sanitizer sees what reads behind it
        CHECK(message_of([&] {
                  static_cast<void>(ragged::from_dlpack<float>(reinterpret_cast<Tensor*>(prefix.get())));
              }) == ragged::concat("a DLPack tensor of version ", major, ".7, wanted is 1.x"));
        CHECK(released == 1);
    }
}

TEST_CASE("what goes out comes in: one memory, two buffers, one end") {
    const ragged::Plan plan = ragged::make_plan(ragged::GroupSpec{"g", {{"w", {16, 8}}}}, 1);
    ragged::CountingResource<> memory;
    auto first = std::make_shared<Buffer<float>>(plan, Place(Line(1), 0), memory);
    ragged::view(*first, "w")(3, 5) = 7.0f;
    const float* const address = first->segment_data(0);
    {
        const Buffer<float, state::Sharded> second(
            plan, Place(Line(1), 0), ragged::from_dlpack<float>(ragged::to_dlpack(first, "w").release()));
        first.reset();
        CHECK(second.segment_data(0) == address);
        CHECK(second.values(0)[29] == 7.0f);
        CHECK(memory.live_bytes() == 512);
        CHECK(memory.allocations() == 1);
    }
    CHECK(memory.live_bytes() == 0);
}
