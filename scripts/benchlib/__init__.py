# SPDX-License-Identifier: Apache-2.0
"""What `scripts/bench` is made of: `table` prints and judges, a module for each bench measures."""
