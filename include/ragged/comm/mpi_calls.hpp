// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The MPI calls of the communicator, with 64-bit counts, and the reductions of every element type. Calls
// return MPI's status and start a request.
#pragma once

#include <algorithm> // std::min
#include <climits>   // INT_MAX
#include <cstdint>
#include <type_traits>

#include <ragged/comm/fold.hpp>
#include <ragged/comm/mpi_error.hpp>
#include <ragged/spec/dtype.hpp>

namespace ragged::detail::mpi {

#if MPI_VERSION >= 4 // counts are 64-bit there

inline int isend(const void* from, std::int64_t bytes, int peer, int tag, MPI_Comm comm,
                 MPI_Request* request) {
    return MPI_Isend_c(from, bytes, MPI_BYTE, peer, tag, comm, request);
}
inline int irecv(void* to, std::int64_t bytes, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
    return MPI_Irecv_c(to, bytes, MPI_BYTE, peer, tag, comm, request);
}
inline int iall_gather(void* base, std::int64_t bytes, MPI_Comm comm, MPI_Request* request) {
    return MPI_Iallgather_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, base, bytes, MPI_BYTE, comm, request);
}

#else

/// Calls call(count, type) with a pair that stands for `bytes` bytes; more than an int counts are one element
/// of a type of that size.
template <class Call>
int with_bytes(std::int64_t bytes, const Call& call) {
    if (bytes <= INT_MAX)
        return call(static_cast<int>(bytes), MPI_BYTE);
    constexpr int large = 1 << 30;
    MPI_Datatype unit = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(large, MPI_BYTE, &unit);
    const int lengths[] = {static_cast<int>(bytes / large), static_cast<int>(bytes % large)};
    const MPI_Aint starts[] = {0, static_cast<MPI_Aint>(bytes / large * large)};
    const MPI_Datatype types[] = {unit, MPI_BYTE};
    MPI_Type_create_struct(2, lengths, starts, types, &type);
    MPI_Type_commit(&type);
    const int code = call(1, type);
    MPI_Type_free(&type); // lives until the request is done
    MPI_Type_free(&unit);
    return code;
}
inline int isend(const void* from, std::int64_t bytes, int peer, int tag, MPI_Comm comm,
                 MPI_Request* request) {
    return with_bytes(bytes, [&](int count, MPI_Datatype type) {
        return MPI_Isend(from, count, type, peer, tag, comm, request);
    });
}
inline int irecv(void* to, std::int64_t bytes, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
    return with_bytes(bytes, [&](int count, MPI_Datatype type) {
        return MPI_Irecv(to, count, type, peer, tag, comm, request);
    });
}
inline int iall_gather(void* base, std::int64_t bytes, MPI_Comm comm, MPI_Request* request) {
    return with_bytes(bytes, [&](int count, MPI_Datatype type) {
        return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, base, count, type, comm, request);
    });
}

#endif

/// Calls call(first, length) for runs that an int counts. For what has no 64-bit form that works: operations
/// of users count in int, and a large MPI_Ibcast_c of MPICH 4.0 fails.
template <class Call>
void in_chunks(std::int64_t count, const Call& call) {
    constexpr std::int64_t most = 1 << 30;
    for (std::int64_t first = 0; first < count; first += most)
        call(first, static_cast<int>(std::min(most, count - first)));
}

/// What MPI reduces an element type with.
struct Reducer {
    MPI_Datatype type;
    MPI_Op operation;
};

/// An operation of ours over bytes: for the small floats, which are no MPI types, and for every maximum.
/// MPI's own may lose a NaN, and that of MPICH 4.0 takes MPI_UINT8_T for signed.
template <class T, class Fold>
class OwnReducer {
  public:
    OwnReducer() {
        check_mpi(MPI_Type_contiguous(sizeof(T), MPI_BYTE, &reducer.type), "MPI_Type_contiguous");
        check_mpi(MPI_Type_commit(&reducer.type), "MPI_Type_commit");
        check_mpi(MPI_Op_create(fold, 1, &reducer.operation), "MPI_Op_create");
        // MPI deletes the attributes of this communicator first of all when it ends
        int key = MPI_KEYVAL_INVALID;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free, &key, nullptr);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, this);
        MPI_Comm_free_keyval(&key);
    }

    Reducer reducer{};

  private:
    static void fold(void* in, void* to, int* count, MPI_Datatype*) {
        const T* const from = static_cast<const T*>(in);
        T* const results = static_cast<T*>(to);
        for (int i = 0; i < *count; ++i)
            results[i] = Fold::back(Fold::fold(Fold::of(results[i]), Fold::of(from[i])));
    }
    static int free(MPI_Comm, int, void* self, void*) {
        Reducer& made = static_cast<OwnReducer*>(self)->reducer;
        MPI_Op_free(&made.operation);
        return MPI_Type_free(&made.type);
    }
};

template <element T>
Reducer reducer_of(Reduction reduction) {
    return with_fold<T>(reduction, []<class Fold>(Fold) -> Reducer {
        if constexpr (std::is_same_v<Fold, SumFold<float>>)
            return {MPI_FLOAT, MPI_SUM};
        else if constexpr (std::is_same_v<Fold, SumFold<double>>)
            return {MPI_DOUBLE, MPI_SUM};
        else if constexpr (std::is_same_v<Fold, SumFold<std::int8_t>>)
            return {MPI_INT8_T, MPI_SUM};
        else if constexpr (std::is_same_v<Fold, SumFold<std::uint8_t>>)
            return {MPI_UINT8_T, MPI_SUM};
        else {
            static OwnReducer<T, Fold> made;
            return made.reducer;
        }
    });
}

} // namespace ragged::detail::mpi
