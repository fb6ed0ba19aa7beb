// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Everything, in the order of the data. Each layer includes only layers above it; comm and group, the two
// ways to work on a buffer, do not see each other. Engines have umbrellas of their own, and so do the headers
// that only a job of several processes needs: nccl.hpp, comm/bootstrap.hpp. view/dlpack.hpp, which needs
// DLPack's own header, is included by who exchanges tensors.
#pragma once

#include <ragged/version.hpp>

// core: errors, checked integers, JSON, UTF-8, what differs between compilers
#include <ragged/core/config.hpp>
#include <ragged/core/error.hpp>
#include <ragged/core/fixed_string.hpp>
#include <ragged/core/hash.hpp>
#include <ragged/core/integer.hpp>
#include <ragged/core/json.hpp>
#include <ragged/core/source_location.hpp>
#include <ragged/core/utf8.hpp>

// spec: what a model says about its tensors
#include <ragged/spec/dtype.hpp>
#include <ragged/spec/float_types.hpp>
#include <ragged/spec/inventory.hpp>
#include <ragged/spec/parse.hpp>
#include <ragged/spec/shape.hpp>
#include <ragged/spec/tensor_spec.hpp>

// layout: where a tensor may be cut, and which rank holds what
#include <ragged/layout/block_grid.hpp>
#include <ragged/layout/copy_run.hpp>
#include <ragged/layout/group_layout.hpp>
#include <ragged/layout/local_spec.hpp>
#include <ragged/layout/placement.hpp>
#include <ragged/layout/portion.hpp>
#include <ragged/layout/ragged_shard.hpp>
#include <ragged/layout/static_layout.hpp>
#include <ragged/layout/strided_ragged_shard.hpp>
#include <ragged/layout/tensor_layout.hpp>
#include <ragged/layout/topology.hpp>

// plan: where the tensors of a group lie in equal shards
#include <ragged/plan/advice.hpp>
#include <ragged/plan/alone_bound.hpp>
#include <ragged/plan/fixed_order.hpp>
#include <ragged/plan/item.hpp>
#include <ragged/plan/laws.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/model_plan.hpp>
#include <ragged/plan/options.hpp>
#include <ragged/plan/order_search.hpp>
#include <ragged/plan/plan.hpp>
#include <ragged/plan/plan_layout.hpp>
#include <ragged/plan/planner.hpp>
#include <ragged/plan/policy/comparison.hpp>
#include <ragged/plan/policy/exact.hpp>
#include <ragged/plan/root_search.hpp>
#include <ragged/plan/root_task.hpp>
#include <ragged/plan/roots.hpp>
#include <ragged/plan/segment_search.hpp>
#include <ragged/plan/segment_sizes.hpp>
#include <ragged/plan/static_plan.hpp>
#include <ragged/plan/subset.hpp>
#include <ragged/plan/unequal_plan.hpp>
#include <ragged/plan/whole_axis_cost.hpp>

// buffer: one rank's memory over a plan
#include <ragged/buffer/arena.hpp>
#include <ragged/buffer/dbuffer.hpp>
#include <ragged/buffer/memory_resource.hpp>
#include <ragged/buffer/memory_space.hpp>

// view: tensors and pieces of tensors inside a buffer, without a copy
#include <ragged/view/shard_view.hpp>
#include <ragged/view/slice_views.hpp>
#include <ragged/view/tensor_view.hpp>

// comm: ranks, and the collectives over a buffer
#include <ragged/comm/agree.hpp>
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/communicator.hpp>
#include <ragged/comm/fold.hpp>
#include <ragged/comm/held_memory.hpp>
#include <ragged/comm/local_communicator.hpp>
#include <ragged/comm/local_group.hpp>
#include <ragged/comm/local_member.hpp>
#include <ragged/comm/local_stream.hpp>
#include <ragged/comm/mesh.hpp>
#include <ragged/comm/shared_call.hpp>
#include <ragged/comm/shared_member.hpp>

// group: operations over all tensors of a buffer at once
#include <ragged/group/block_body.hpp>
#include <ragged/group/block_update.hpp>
#include <ragged/group/by_piece.hpp>
#include <ragged/group/device_pieces.hpp>
#include <ragged/group/exact_bands.hpp>
#include <ragged/group/exact_body.hpp>
#include <ragged/group/exact_sum.hpp>
#include <ragged/group/executor.hpp>
#include <ragged/group/flat.hpp>
#include <ragged/group/flat_body.hpp>
#include <ragged/group/fold_body.hpp>
#include <ragged/group/fold_order.hpp>
#include <ragged/group/host_executor.hpp>
#include <ragged/group/operations.hpp>
#include <ragged/group/piece_table.hpp>
#include <ragged/group/run_body.hpp>
#include <ragged/group/run_table.hpp>

// redistribute: from any layout to any other
#include <ragged/redistribute/buffers.hpp>
#include <ragged/redistribute/counts.hpp>
#include <ragged/redistribute/engine_order.hpp>
#include <ragged/redistribute/exchange.hpp>
#include <ragged/redistribute/from_local.hpp>
#include <ragged/redistribute/program.hpp>
#include <ragged/redistribute/redistribution.hpp>
#include <ragged/redistribute/redistribution_bytes.hpp>
#include <ragged/redistribute/redistribution_state.hpp>
#include <ragged/redistribute/route.hpp>
#include <ragged/redistribute/stage.hpp>
#include <ragged/redistribute/steps.hpp>
#include <ragged/redistribute/transfer_list.hpp>

// optim: optimizers over this rank's regions
#include <ragged/optim/adam8bit.hpp>
#include <ragged/optim/adamw.hpp>
#include <ragged/optim/decayed_step.hpp>
#include <ragged/optim/dynamic_code.hpp>
#include <ragged/optim/gemm.hpp>
#include <ragged/optim/inverse_root.hpp>
#include <ragged/optim/matrix_blocks.hpp>
#include <ragged/optim/muon.hpp>
#include <ragged/optim/muon_layout.hpp>
#include <ragged/optim/newton_schulz.hpp>
#include <ragged/optim/optimizer.hpp>
#include <ragged/optim/option_check.hpp>
#include <ragged/optim/routing.hpp>
#include <ragged/optim/shampoo.hpp>
#include <ragged/optim/subset_adamw.hpp>
#include <ragged/optim/subset_pieces.hpp>

// step: a training step over groups
#include <ragged/step/loss_scale.hpp>
#include <ragged/step/schedule.hpp>
#include <ragged/step/sharded_step.hpp>
#include <ragged/step/step_memory.hpp>
#include <ragged/step/step_model.hpp>
#include <ragged/step/step_options.hpp>
#include <ragged/step/trace.hpp>

// report: plans for people and programs; needs nothing below plan
#include <ragged/report/group_runs.hpp>
#include <ragged/report/line_chart.hpp>
#include <ragged/report/plan_json.hpp>
#include <ragged/report/plan_svg.hpp>
#include <ragged/report/plan_table.hpp>
#include <ragged/report/read_plan.hpp>
#include <ragged/report/svg.hpp>
#include <ragged/report/text.hpp>
