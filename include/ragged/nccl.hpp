// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The library over NCCL: the CUDA engine, NCCL as a communicator, and how its processes find each other. Link
// ragged::nccl.
#pragma once

#include <ragged/cuda.hpp>

#include <ragged/comm/bootstrap.hpp>
#include <ragged/comm/nccl_api.hpp>
#include <ragged/comm/nccl_communicator.hpp>
#include <ragged/comm/nccl_completion.hpp>
#include <ragged/comm/nccl_error.hpp>
#include <ragged/comm/nccl_group.hpp>
#include <ragged/comm/nccl_member.hpp>
#include <ragged/comm/nccl_options.hpp>
#include <ragged/comm/nccl_registration.hpp>
#include <ragged/comm/nccl_resource.hpp>
#include <ragged/comm/nccl_scratch.hpp>
#include <ragged/comm/nccl_stream.hpp>
