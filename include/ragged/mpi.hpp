// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The library over MPI processes: link ragged::mpi.
#pragma once

#include <ragged/ragged.hpp>

#include <ragged/comm/mpi_calls.hpp>
#include <ragged/comm/mpi_communicator.hpp>
#include <ragged/comm/mpi_error.hpp>
#include <ragged/comm/mpi_node.hpp>
#include <ragged/comm/mpi_node_group.hpp>
#include <ragged/comm/mpi_options.hpp>
#include <ragged/comm/mpi_reduce_scatter.hpp>
#include <ragged/comm/mpi_roll_call.hpp>
#include <ragged/comm/mpi_shared_resource.hpp>
#include <ragged/comm/mpi_state.hpp>
#include <ragged/comm/mpi_stream.hpp>
