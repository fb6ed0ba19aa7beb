// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What one of many threads does in a flat operation: every num_threads-th pack of elements, moved in words of
// 16 bytes. Runs on a device; on a host the tests run it as loops over threads.
#pragma once

#include <algorithm> // std::min
#include <cstdint>
#include <type_traits>

#include <ragged/core/config.hpp>

namespace ragged::body {

inline constexpr int word_bytes = 16;

/// Elements that a thread takes at once: a whole word of the narrowest type, several words of the wider ones.
template <class... T>
inline constexpr int pack_elems = word_bytes / static_cast<int>(std::min({sizeof(T)...}));

/// One load or store. A struct of elements rather than of integers, so that it may alias them on the host.
template <class T, int Bytes = word_bytes>
struct alignas(Bytes) Word {
    static constexpr int elems = Bytes / static_cast<int>(sizeof(T));
    T values[elems];
};

/// In whole words; in one of fewer bytes where there are not that many.
template <int Elems, class T>
struct Pack {
    static constexpr int bytes = Elems * static_cast<int>(sizeof(T));
    using word = Word<T, (bytes < word_bytes ? bytes : word_bytes)>;
    static constexpr int num_words = Elems / word::elems;
    static_assert(num_words * word::elems == Elems);
    word words[num_words];

    RAGGED_HOST_DEVICE T& operator[](int i) { return words[i / word::elems].values[i % word::elems]; }
    RAGGED_HOST_DEVICE const T& operator[](int i) const {
        return words[i / word::elems].values[i % word::elems];
    }
};

/// Whether packs can be loaded from and stored to all pointers.
template <int Elems, class... T>
RAGGED_HOST_DEVICE bool are_aligned(const T*... pointers) {
    return ((reinterpret_cast<std::uintptr_t>(pointers) % alignof(Pack<Elems, T>) == 0) && ...);
}

/// @pre are_aligned<Elems>(from)
template <int Elems, class T>
RAGGED_HOST_DEVICE Pack<Elems, T> load(const T* from) {
    Pack<Elems, T> pack;
    RAGGED_UNROLL
    for (int word = 0; word < pack.num_words; ++word)
        pack.words[word] = reinterpret_cast<const typename Pack<Elems, T>::word*>(from)[word];
    return pack;
}

/// @pre are_aligned<Elems>(to)
template <int Elems, class T>
RAGGED_HOST_DEVICE void store(T* to, const Pack<Elems, T>& pack) {
    RAGGED_UNROLL
    for (int word = 0; word < pack.num_words; ++word)
        reinterpret_cast<typename Pack<Elems, T>::word*>(to)[word] = pack.words[word];
}

/// out[i] = op(in[i]...) for one pack.
template <int Elems, class Op, class Out, class... In>
RAGGED_HOST_DEVICE void map_pack(const Op& op, Out* out, const Pack<Elems, In>&... in) {
    Pack<Elems, Out> result;
    RAGGED_UNROLL
    for (int i = 0; i < Elems; ++i)
        result[i] = op(in[i]...);
    store(out, result);
}

/// out[i] = op(in[i]...) for the elements in [0, count) that are `thread`'s; in may be out. Packs where all
/// pointers are aligned to a word, else and in the tail element by element.
/// @param thread  in [0, num_threads)
template <class Op, class Out, class... In>
RAGGED_HOST_DEVICE void map(const Op& op, Out* out, std::int64_t count, std::int64_t thread,
                            std::int64_t num_threads, const In*... in) {
    constexpr int elems = pack_elems<Out, In...>;
    const std::int64_t packs = are_aligned<elems>(out, in...) ? count / elems : 0;
    RAGGED_ROLL
    for (std::int64_t pack = thread; pack < packs; pack += num_threads)
        map_pack<elems>(op, out + pack * elems, load<elems>(in + pack * elems)...);
    RAGGED_ROLL
    for (std::int64_t i = packs * elems + thread; i < count; i += num_threads)
        out[i] = op(in[i]...);
}

/// The pack back to where it came from, unless it was only read.
template <int Elems, class T>
RAGGED_HOST_DEVICE void store_written(T* to, const Pack<Elems, std::remove_const_t<T>>& pack) {
    if constexpr (!std::is_const_v<T>)
        store(to, pack);
}

/// op(pack[i]...) on references for one pack of each array.
template <int Elems, class Op, class... T>
RAGGED_HOST_DEVICE void update_pack(const Op& op, T*... arrays) {
    const auto update = [&op, arrays...](Pack<Elems, std::remove_const_t<T>>... packs) {
        RAGGED_UNROLL
        for (int i = 0; i < Elems; ++i)
            op(static_cast<T&>(packs[i])...);
        (store_written<Elems>(arrays, packs), ...);
    };
    update(load<Elems>(static_cast<const T*>(arrays))...);
}

/// op(array[i]...) on references for the elements in [0, count) that are `thread`'s; arrays of const elements
/// are only read. Packs and tail as above. @pre arrays do not overlap
template <class Op, class... T>
RAGGED_HOST_DEVICE void update(const Op& op, std::int64_t count, std::int64_t thread,
                               std::int64_t num_threads, T*... arrays) {
    constexpr int elems = pack_elems<T...>;
    const std::int64_t packs = are_aligned<elems>(arrays...) ? count / elems : 0;
    RAGGED_ROLL
    for (std::int64_t pack = thread; pack < packs; pack += num_threads)
        update_pack<elems>(op, arrays + pack * elems...);
    RAGGED_ROLL
    for (std::int64_t i = packs * elems + thread; i < count; i += num_threads)
        op(arrays[i]...);
}

} // namespace ragged::body
