// expect: regions of unequal sizes need a communicator with reduce_scatter_v
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/ragged.hpp>

// A communicator without collectives of different counts.
struct EqualOnly {
    struct Completion {
        void wait() {}
    };
    int rank() const { return 0; }
    int size() const { return 1; }
    EqualOnly split(int, int) { return {}; }
    template <class T>
    Completion all_gather(T*, std::int64_t) {
        return {};
    }
    template <class T>
    Completion reduce_scatter(T*, std::int64_t) {
        return {};
    }
    template <class T>
    Completion all_reduce(T*, std::int64_t) {
        return {};
    }
};

using Line = ragged::Topology<ragged::Axis<"shard">>;
template <class PlanType>
using Buffer = ragged::DBuffer<float, Line, ragged::state::Partial, PlanType>;

void use(Buffer<ragged::UnequalPlan> unequal, Buffer<ragged::Plan> equal,
         ragged::Mesh<Line, EqualOnly>& mesh) {
#ifdef RAGGED_MUST_FAIL
    ragged::reduce(std::move(unequal), mesh).wait();
    static_cast<void>(equal);
#else
    ragged::reduce(std::move(equal), mesh).wait();
    static_cast<void>(unequal);
#endif
}
