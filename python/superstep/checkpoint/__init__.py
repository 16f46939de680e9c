# SPDX-License-Identifier: Apache-2.0
"""Checkpointers for LangGraph's own graphs: superstep.checkpoint.postgres."""
