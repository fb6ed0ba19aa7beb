// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What the target ragged::nccl adds: NCCL as a communicator, and how its processes
// find each other.
#pragma once

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
