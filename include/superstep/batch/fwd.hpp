// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {

struct batch_options;
struct batch_progress;
struct batch_summary;
struct row_outcome;
struct row_request;
class progress_sink;
class row_runner;
class running_row;
class stop_request;

} // namespace superstep
