// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What one of many threads does where elements of several arrays are updated block by block, and the update
// needs the largest of some values of the block: a walk that only reads, then one that writes. Nothing is
// stored between them: what the first computed, the second computes again.
#pragma once

#include <algorithm> // std::min
#include <cstdint>

#include <ragged/group/block_body.hpp>
#include <ragged/group/executor.hpp>
#include <ragged/group/flat_body.hpp>

namespace ragged {

/// Bits of the N largest values that a block was asked for, as op::AbsMax has them.
template <int N>
struct Largest {
    std::uint32_t bits[N]{};
};

// clang-format off
/// An op of update_blocks, by its example optim/adam8bit.hpp:
///
/// | expression                        | meaning                                                          |
/// | --------------------------------- | ---------------------------------------------------------------- |
/// | Op::num_largest                   | values of an element of which the largest are wanted             |
/// | auto b = op.block(local_block)    | before a block: reads what the op has by block, its scales       |
/// | b.measure(largest, element...)    | adds an element, one reference per array, to a Largest; it reads |
/// | auto u = b.update(largest)        | between the walks; largest is of the whole block                 |
/// | u(element...)                     | the update, on references; writes those that are not const       |
/// | op.finish(local_block, largest)   | after a block, by one thread: writes what the op has by block    |
// clang-format on

namespace body {

/// Regions of several arrays in one parameter of a kernel. (GCC does not find a kernel whose constant
/// parameters are a pack, and parameters that are not constant are copied to where they can be indexed.)
template <class T, class... Rest>
struct RegionList {
    Regions<T> first;
    RegionList<Rest...> rest;

    static RegionList of(const Regions<T>& array, const Regions<Rest>&... others) {
        return {array, RegionList<Rest...>::of(others...)};
    }
    /// use(the piece of each array...)
    template <class Use, class... Before>
    RAGGED_HOST_DEVICE void with_pieces(const PieceEntry& entry, const Use& use, Before*... before) const {
        rest.with_pieces(entry, use, before..., first.piece(entry));
    }
};
template <class T>
struct RegionList<T> {
    Regions<T> first;

    static RegionList of(const Regions<T>& array) { return {array}; }
    template <class Use, class... Before>
    RAGGED_HOST_DEVICE void with_pieces(const PieceEntry& entry, const Use& use, Before*... before) const {
        use(before..., first.piece(entry));
    }
};

/// Elements that a thread takes at once: of several arrays, so not as many that they do not fit in registers.
template <class... T>
inline constexpr int update_elems = std::min(pack_elems<T...>, 8);

template <int Elems, class Block, int N, class... T>
RAGGED_HOST_DEVICE void measure_pack(const Block& of, Largest<N>& largest, const Pack<Elems, T>&... packs) {
    RAGGED_UNROLL
    for (int i = 0; i < Elems; ++i)
        of.measure(largest, packs[i]...);
}

/// The first walk. @param arrays  the block's first element of each
template <class Block, int N, class... T>
RAGGED_HOST_DEVICE void measure_block(const BlockGeometry& grid, const BlockRows& block, int thread, int team,
                                      const Block& of, Largest<N>& largest, const T*... arrays) {
    constexpr int elems = update_elems<T...>;
    RAGGED_ROLL
    for (PackWalk<elems> walk(grid, block, thread, team); walk.more(); walk.next()) {
        const std::int64_t offset = walk.offset();
        const int count = walk.count();
        if (count == elems && are_aligned<elems>(arrays + offset...)) {
            measure_pack(of, largest, load<elems>(arrays + offset)...);
        } else {
            RAGGED_ROLL
            for (int i = 0; i < count; ++i)
                of.measure(largest, arrays[offset + i]...);
        }
    }
}

/// The second.
template <class Op, class... T>
RAGGED_HOST_DEVICE void update_block(const BlockGeometry& grid, const BlockRows& block, int thread, int team,
                                     const Op& op, T*... arrays) {
    constexpr int elems = update_elems<T...>;
    RAGGED_ROLL
    for (PackWalk<elems> walk(grid, block, thread, team); walk.more(); walk.next()) {
        const std::int64_t offset = walk.offset();
        const int count = walk.count();
        if (count == elems && are_aligned<elems>(arrays + offset...)) {
            update_pack<elems>(op, arrays + offset...);
        } else {
            RAGGED_ROLL
            for (int i = 0; i < count; ++i)
                op(arrays[offset + i]...);
        }
    }
}

} // namespace body

} // namespace ragged
