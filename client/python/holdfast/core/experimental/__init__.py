# SPDX-License-Identifier: Apache-2.0
"""``cuda.core.experimental``, where all of cuda.core was before 0.5: every name of
``holdfast.core``, and its modules."""

import importlib
import sys

from holdfast import core as _core
from holdfast.core import *  # noqa: F403
from holdfast.core import __all__ as __all__

# ``import holdfast.core.experimental.utils`` finds the one module, not a second.
for _name in ("graph", "system", "typing", "utils"):
    _module = importlib.import_module(f"holdfast.core.{_name}")
    sys.modules[f"{__name__}.{_name}"] = _module
    globals()[_name] = _module


def __getattr__(name):
    return getattr(_core, name)
